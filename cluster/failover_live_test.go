package cluster_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/redistest"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
)

// load is callers that count keys and note what they were told.
type load struct {
	keys                           []string
	acknowledged, unknown, refused []atomic.Int64
	stop                           chan struct{}
	callers                        sync.WaitGroup
}

// startLoad counts with 100 ms for each request.
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
				select {
				case <-l.stop:
					return
				default:
				}
				l.request(p, replies)
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
		case errors.Is(err, lanes.ErrUnknownOutcome):
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

// TestGracefulFailover hands the slots of each primary to its replica while
// callers count: nothing may be lost or counted twice.
func TestGracefulFailover(t *testing.T) {
	t.Parallel()
	real := redistest.StartCluster(t, redistest.Options{Primaries: 3, Replicas: 1})
	client := open(t, cluster.Config{}, real.Addrs())
	ctx := within(t, 60*time.Second)
	l := startLoad(client, 8, redistest.KeysInSlots(9, "failover"))
	for _, replica := range real.Nodes()[3:] {
		require.NoError(t, replica.Failover(ctx, ""))
		require.NoError(t, real.WaitHealthy(ctx))
	}
	l.end()
	for i, key := range l.keys {
		var n int64
		require.NoError(t, client.Do(ctx, radix.Cmd(&n, "GET", key)))
		require.GreaterOrEqual(t, n, l.acknowledged[i].Load(), key)
		require.LessOrEqual(t, n, l.acknowledged[i].Load()+l.unknown[i].Load(), key)
	}
	t.Logf("acknowledged %d, unknown %d, refused %d", sum(l.acknowledged), sum(l.unknown), sum(l.refused))
}

// TestKilledPrimary kills a primary that has a replica: nothing is counted
// twice, and its slots are served again soon after the promotion.
func TestKilledPrimary(t *testing.T) {
	t.Parallel()
	real := redistest.StartCluster(t, redistest.Options{Primaries: 3, Replicas: 1})
	client := open(t, cluster.Config{}, real.Addrs())
	ctx := within(t, 60*time.Second)
	keys := redistest.KeysInSlots(9, "killed")
	l := startLoad(client, 8, keys)
	require.NoError(t, real.Nodes()[0].Kill())
	for promoted := false; !promoted; {
		var err error
		promoted, err = real.Nodes()[3].IsPrimary(ctx)
		require.NoError(t, err)
	}
	before := l.acknowledged[0].Load()
	began := time.Now()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for l.acknowledged[0].Load() == before {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal("the slots of the killed primary are not served again")
		}
	}
	t.Logf("served again %v after the promotion", time.Since(began))
	l.end()
	for i, key := range keys {
		var n int64
		require.NoError(t, client.Do(ctx, radix.Cmd(&n, "GET", key)))
		require.LessOrEqual(t, n, l.acknowledged[i].Load()+l.unknown[i].Load(), key)
	}
	t.Logf("acknowledged %d, unknown %d, refused %d", sum(l.acknowledged), sum(l.unknown), sum(l.refused))
}
