package load

import (
	"context"
	"errors"
	"sync"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"

	"github.com/redislanes/redislanes/bench/internal/keys"
)

// goroutines sends each group of a request in a pipeline and a goroutine of its own, and joins them by a WaitGroup, as
// programs do without pipelines over several nodes. The caller itself sends the last group.
type goroutines struct {
	client *cluster.Client
	bySlot bool
	groups map[group]*part
}

// A group is the keys of a node or of a slot.
type group struct {
	node string
	slot uint16
}

type part struct {
	counter keys.Counter
	names   []string
	err     error
}

// count counts the keys, and checks every reply.
func (g *goroutines) count(ctx context.Context, names []string) (err error) {
	var used []*part
	for _, name := range names {
		of := group{slot: cluster.Slot(name)}
		if !g.bySlot {
			of = group{node: g.client.Primary(of.slot)}
		}
		p := g.groups[of]
		if p == nil {
			p = &part{counter: keys.Counter{Pipeline: pipeline.New(g.client)}}
			g.groups[of] = p
		}
		if len(p.names) == 0 {
			used = append(used, p)
		}
		p.names = append(p.names, name)
	}
	var others sync.WaitGroup
	for i, p := range used {
		if send := func() { p.err = p.counter.Count(ctx, p.names) }; i < len(used)-1 {
			others.Go(send)
		} else {
			send()
		}
	}
	others.Wait()
	for _, p := range used {
		err = errors.Join(err, p.err)
		p.names = p.names[:0]
	}
	return err
}
