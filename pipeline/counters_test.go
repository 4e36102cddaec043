package pipeline_test

import (
	"context"
	"fmt"
	"slices"
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
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestCounters: the totals that concurrent callers get for one key are those
// of INCRBYs one after the other.
func TestCounters(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, cluster.Config{}, real.Addrs())
	counters := pipeline.CountersConfig{}.New(client)
	defer counters.Close()
	const callers, rounds = 20, 50
	var mu sync.Mutex
	var totals []int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range rounds {
				hits := []pipeline.Hit{{Key: "hot", By: 1, TTL: time.Minute}, {Key: "cold", By: 0}, {Key: "{x}", By: -2, TTL: 90 * time.Second}}
				if err := counters.Hit(within(t, 10*time.Second), hits); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				totals = append(totals, hits[0].Total)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(totals)
	require.Len(t, totals, callers*rounds)
	for i, n := range totals {
		require.EqualValues(t, i+1, n, "totals must be distinct and without a gap")
	}
	ctx := within(t, 5*time.Second)
	for key, longest := range map[string]int{"hot": 60, "{x}": 90, "cold": -1} {
		var ttl int
		require.NoError(t, client.Do(ctx, radix.Cmd(&ttl, "TTL", key)))
		require.LessOrEqual(t, ttl, longest)
		require.Greater(t, ttl, longest-30)
	}
}

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

// TestHitDoesNotAllocate gates the hot path of keys that nobody else counts, on one node
// and on three.
func TestHitDoesNotAllocate(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{})
	client := open(t, cluster.Config{Pool: pool.Laned{Lanes: 1}}, real.Addrs())
	counters := pipeline.CountersConfig{}.New(client)
	for i, keys := range [][]string{{"{a}"}, {"{a}", "{b}", "{c}", "{a}2", "{b}2"}, {"{a}"}} {
		ctx := within(t, time.Minute)
		if i == 2 {
			ctx = context.Background()
		}
		var hits []pipeline.Hit
		nodes := make(map[string]bool)
		for _, key := range keys {
			hits = append(hits, pipeline.Hit{Key: key, By: 1, TTL: time.Minute})
			nodes[client.Primary(cluster.Slot(key))] = true
		}
		require.Len(t, nodes, min(3, len(keys)))
		hit := func() {
			if err := counters.Hit(ctx, hits); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			hit()
		}
		most := 1.0
		if race.Enabled {
			most = 16 * float64(len(nodes))
		}
		require.Less(t, servers.LeastAllocs(500, most-1, hit), most)
	}
	require.NoError(t, counters.Close())
}
