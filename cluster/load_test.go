package cluster_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// load is callers that count keys and note what they were told.
type load struct {
	keys                           []string
	acknowledged, unknown, refused []atomic.Int64
	stop                           chan struct{}
	callers                        sync.WaitGroup
}

// startLoad counts with 100 ms for each request. Each caller rests for as long
// between two, which leaves the processors room for the servers and for other tests.
func startLoad(client *cluster.Client, callers int, keys []string) *load {
	l := &load{
		keys: keys, stop: make(chan struct{}),
		acknowledged: make([]atomic.Int64, len(keys)), unknown: make([]atomic.Int64, len(keys)), refused: make([]atomic.Int64, len(keys)),
	}
	for range callers {
		l.callers.Go(func() {
			p := pipeline.New(client)
			replies := make([]pipeline.Reply, len(keys))
			for {
				l.request(p, replies)
				select {
				case <-l.stop:
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	return l
}

func (l *load) request(p *pipeline.Pipeline, replies []pipeline.Reply) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	p.Reset()
	for i, key := range l.keys {
		replies[i] = p.IncrBy(key, 1)
		p.Expire(key, time.Hour)
	}
	_ = p.Do(ctx)
	for i, r := range replies {
		switch err := r.Err(); {
		case err == nil:
			l.acknowledged[i].Add(1)
		case errors.Is(err, redislanes.ErrUnknownOutcome):
			l.unknown[i].Add(1)
		default:
			l.refused[i].Add(1)
		}
	}
}

func (l *load) end() {
	close(l.stop)
	l.callers.Wait()
}

func sum(counts []atomic.Int64) (n int64) {
	for i := range counts {
		n += counts[i].Load()
	}
	return n
}
