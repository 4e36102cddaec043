package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/internal/keys"
)

// A caller is one goroutine's part of a load.
type caller struct {
	scenario scenario
	tags     bool
	timeout  time.Duration
	keys     *keySet
	pick     picker
	pipeline *pipeline.Pipeline
	count    func(context.Context, []string) error // of a rate limiter's keys

	drawn   []string // of the request
	replies []pipeline.Reply
}

func newCaller(client *cluster.Client, l settings.Load, names *keySet, number int) *caller {
	by := cluster.ByNode
	if l.Group == "slot" {
		by = cluster.BySlot
	}
	p := pipeline.Config{Group: by, Sequential: l.FanOut == "sequential"}.New(client)
	count := (&keys.Counter{Pipeline: p}).Count
	if l.FanOut == "goroutines" {
		count = (&goroutines{client: client, bySlot: l.Group == "slot", groups: make(map[group]*part)}).count
	}
	return &caller{
		scenario: scenarioOf(l), tags: l.HashTags, timeout: l.Timeout.Duration, keys: names,
		pick: newPicker(l, number), pipeline: p, count: count,
	}
}

// request sends one request, checks every reply, and says what it counts among.
func (c *caller) request(ctx context.Context) (class, error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	if c.scenario.mix == nil {
		return writes, c.count(ctx, c.drawKeys())
	}
	c.pipeline.Reset()
	c.replies = c.replies[:0]
	kind := c.scenario.draw(c.pick.random.Float64())
	return kind.class(), c.serve(ctx, kind)
}

// drawKeys returns the keys of one request of a rate limiter: with hash tags,
// all are those of one user.
func (c *caller) drawKeys() []string {
	if c.tags {
		return c.keys.group[c.pick.index()]
	}
	c.drawn = append(c.drawn[:0], c.keys.fixed...)
	for range c.scenario.variable {
		c.drawn = append(c.drawn, c.keys.many[c.pick.index()])
	}
	return c.drawn
}

// serve is a request of one of the other services.
func (c *caller) serve(ctx context.Context, what kind) error {
	i := c.pick.index()
	switch what {
	case get:
		c.append("GET", c.keys.many[i])
	case put:
		c.append("SET", c.keys.many[i], value, "EX", preparedTTL) // SET without EX would take the TTL away
	case hash:
		c.append("HGETALL", c.keys.hashes[i])
	case several:
		c.append("MGET", anys(c.keys.group[i])...)
	case pipeline10:
		for range pipelineKeys {
			c.append("GET", c.keys.many[c.pick.index()])
		}
	case slow:
		c.append("HGETALL", c.keys.slow[c.pick.random.IntN(len(c.keys.slow))])
	}
	if err := c.pipeline.Do(ctx); err != nil {
		return err
	}
	for _, r := range c.replies {
		if r.IsNull() {
			return fmt.Errorf("%w: null, but the key was set before", keys.ErrUnexpected)
		}
	}
	return nil
}

func (c *caller) append(name string, args ...any) {
	c.replies = append(c.replies, c.pipeline.Cmd(name, args...))
}

// anys returns the texts as arguments.
func anys(texts []string) []any {
	args := make([]any, len(texts))
	for i, text := range texts {
		args[i] = text
	}
	return args
}

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
