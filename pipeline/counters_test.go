package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

func TestCountersErrors(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	counters := pipeline.CountersConfig{}.New(client)
	ctx := within(t, 5*time.Second)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "text", "canary")))
	hits := []pipeline.Hit{{Key: "a", By: 1, TTL: time.Minute}, {Key: "text", By: 1, TTL: time.Minute}, {Key: "b", By: 2}}
	err := counters.Hit(ctx, hits)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "canary")
	require.NoError(t, hits[0].Err)
	require.Error(t, hits[1].Err)
	require.Zero(t, hits[1].Total)
	require.NoError(t, hits[2].Err)
	require.EqualValues(t, 2, hits[2].Total)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	err = counters.Hit(ended, hits)
	require.ErrorIs(t, err, context.Canceled)
	for _, h := range hits {
		require.ErrorIs(t, h.Err, redislanes.ErrNotSent)
	}
	require.NoError(t, counters.Hit(ctx, nil))

	require.NoError(t, counters.Close())
	require.NoError(t, counters.Close())
	require.ErrorIs(t, counters.Hit(ctx, hits), redislanes.ErrClosed)
	for _, h := range hits {
		require.ErrorIs(t, h.Err, redislanes.ErrClosed, fmt.Sprint(h.Total))
	}
}

// A step is one hit and the total its caller got: an edge from the total before
// it to the total after it.
type step struct{ by, total int64 }

// sequential reports an error unless there is an order in which sequential
// INCRBYs would have returned the totals: a trail through all edges from start
// to the end. There is one exactly if each total is left as often as it is
// reached, but for start and end, and all edges hang together (Euler; the
// theorem for directed graphs).
func sequential(steps []step, start, end int64) error {
	balance := map[int64]int{start: 1}
	balance[end]--
	parent := make(map[int64]int64)
	var find func(v int64) int64
	find = func(v int64) int64 {
		if p, ok := parent[v]; ok && p != v {
			root := find(p)
			parent[v] = root
			return root
		}
		return v
	}
	for _, s := range steps {
		from := s.total - s.by
		balance[from]--
		balance[s.total]++
		if a, b := find(from), find(s.total); a != b {
			parent[a] = b
		}
	}
	for total, n := range balance {
		if n != 0 {
			return fmt.Errorf("the total %d is reached %d times more often than it is left", total, n)
		}
	}
	for _, s := range steps {
		if find(s.total) != find(start) {
			return fmt.Errorf("no order of the increments reaches the total %d", s.total)
		}
	}
	return nil
}

// TestCountersModel compares many concurrent hits, of any sign, on few keys with
// sequential INCRBYs.
func TestCountersModel(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, cluster.Config{}, real.Addrs())
	counters := pipeline.CountersConfig{}.New(client)
	const callers = 32
	calls := race.Rounds(200, 100)
	keys := redistest.KeysInSlots(6, "model")
	var mu sync.Mutex
	steps := make(map[string][]step)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 1))
			hits := make([]pipeline.Hit, 4)
			for range calls {
				for i := range hits { // a key may come twice
					by := random.Int64N(9) - 4
					hits[i] = pipeline.Hit{Key: keys[random.IntN(len(keys))], By: by, Look: by == 0, TTL: time.Duration(random.IntN(3)) * time.Hour}
				}
				if err := counters.Hit(within(t, 20*time.Second), hits); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, h := range hits {
					steps[h.Key] = append(steps[h.Key], step{h.By, h.Total})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.NoError(t, counters.Close())
	hits := 0
	for _, key := range keys {
		var end int64
		require.NoError(t, client.Do(within(t, 5*time.Second), radix.Cmd(&end, "GET", key)))
		require.NoError(t, sequential(steps[key], 0, end), key)
		hits += len(steps[key])
	}
	require.Equal(t, callers*calls*4, hits)
	sent := incrbys(t, real)
	t.Logf("%d hits, %d INCRBY", hits, sent)
	require.Less(t, sent, hits, "hits were merged")
}

// incrbys returns how many INCRBY the cluster has executed.
func incrbys(t *testing.T, c *servers.Cluster) (n int) {
	t.Helper()
	for _, node := range c.Nodes() {
		var stats string
		require.NoError(t, node.Do(within(t, 5*time.Second), &stats, "INFO", "commandstats"))
		var calls int
		for line := range strings.Lines(stats) {
			if _, err := fmt.Sscanf(line, "cmdstat_incrby:calls=%d", &calls); err == nil {
				n += calls
			}
		}
	}
	return n
}
