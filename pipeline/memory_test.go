package pipeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/race"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestReusedPipelineDoesNotAllocate gates the hot path.
func TestReusedPipelineDoesNotAllocate(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, cluster.Config{Pool: pool.Laned{Lanes: 1}}, real.Addrs())
	keys := redistest.KeysInSlots(10, "allocs")
	p := pipeline.New(client)
	ctx := within(t, time.Minute)
	replies := make([]pipeline.Reply, len(keys))
	request := func() {
		p.Reset()
		for i, key := range keys {
			replies[i] = p.IncrBy(key, 1)
			p.Expire(key, time.Minute)
			if real.Major() >= 7 {
				p.ExpireNX(key, 1500*time.Millisecond)
			}
			p.Count(key, 1, time.Minute)
		}
		if err := p.Do(ctx); err != nil {
			t.Fatal(err)
		}
		for _, r := range replies {
			if _, err := r.Int(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 100 {
		request()
	}
	require.Less(t, servers.LeastAllocs(500, 0, request), 1.0)
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
