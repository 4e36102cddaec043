package metrics_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// observed has seen a request of each outcome, and waits for two nodes.
func observed() *metrics.Metrics {
	m := metrics.New()
	trace := m.Trace()
	for i, outcome := range []string{"ok", "error", "not_sent", "unknown"} {
		request(trace, redislanes.RequestInfo{Took: time.Duration(i+1) * time.Millisecond, Commands: 10, Failed: i, Trips: 3, Outcome: outcome})
	}
	for _, addr := range []string{"10.0.0.1:6379", "10.0.0.2:6379"} {
		p := &redislanes.PoolInfo{Addr: addr, Role: "primary", Kind: "fixed"}
		trace.PoolOpened(p)
		trace.Waited(p, 3*time.Millisecond)
	}
	return m
}

// request tells of a request.
func request(t *redislanes.Trace, r redislanes.RequestInfo) {
	t.EndRequest(context.Background(), redislanes.RequestStart{Commands: r.Commands}, r)
}

func TestHistograms(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(observed()))
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
	text := exposition(t, observed())
	for _, want := range []string{
		`redislanes_commands_total{result="error"} 6`,
		`redislanes_commands_total{result="success"} 34`,
		`redislanes_trips_total 12`,
		`redislanes_request_duration_seconds_count{outcome="unknown"} 1`,
		`redislanes_request_duration_seconds_sum{outcome="unknown"} 0.004`,
		`redislanes_request_duration_seconds_bucket{outcome="ok",le="0.0005"} 0`,
		`redislanes_request_duration_seconds_bucket{outcome="ok",le="0.001"} 1`,
		`redislanes_pool_wait_duration_seconds_bucket{kind="fixed",node="10.0.0.2:6379",role="primary",le="0.005"} 1`,
	} {
		require.Contains(t, text, want)
	}
	families, err := reg.Gather()
	require.NoError(t, err)
	native := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil && len(h.GetPositiveSpan()) > 0 {
				native++
			}
		}
	}
	require.Equal(t, 4+2, native, "native buckets beside the classic ones")
}

// TestEverythingFromTheStart: a rate needs a value to start from.
func TestEverythingFromTheStart(t *testing.T) {
	text := exposition(t, metrics.New())
	for _, outcome := range []string{"ok", "error", "not_sent", "unknown"} {
		require.Contains(t, text, fmt.Sprintf("redislanes_request_duration_seconds_count{outcome=%q} 0", outcome))
	}
	require.Contains(t, text, `redislanes_commands_total{result="error"} 0`)
}

// TestWaitsEndWithTheNode: the series goes when the last of the node's pools
// does, and a node that is back before that keeps it.
func TestWaitsEndWithTheNode(t *testing.T) {
	const series = "redislanes_pool_wait_duration_seconds"
	m := metrics.New()
	trace := m.Trace()
	open := func(role string) *redislanes.PoolInfo {
		p := &redislanes.PoolInfo{Addr: "10.0.0.1:6379", Role: role, Kind: "laned"}
		trace.PoolOpened(p)
		return p
	}
	first, second, other := open("primary"), open("primary"), open("replica")
	require.Equal(t, 2, testutil.CollectAndCount(m, series))
	trace.PoolClosed(first)
	trace.Waited(second, time.Millisecond)
	require.Contains(t, exposition(t, m), series+`_count{kind="laned",node="10.0.0.1:6379",role="primary"} 1`)
	trace.PoolClosed(second)
	require.Equal(t, 1, testutil.CollectAndCount(m, series))
	trace.PoolClosed(other)
	require.Zero(t, testutil.CollectAndCount(m, series))
	trace.Waited(first, time.Millisecond) // too late, and harmless
	trace.EndGroup(t.Context(), redislanes.GroupStart{Pool: first}, redislanes.GroupInfo{})
	trace.PoolClosed(first)
	require.Zero(t, testutil.CollectAndCount(m, series))
}

// TestHistogramsOfAClient: all figures agree with those that the client counts.
func TestHistogramsOfAClient(t *testing.T) {
	emulated := redistest.StartEmulated(t, 3)
	m := metrics.New()
	client := observedClient(t, emulated.Addrs(), pool.Fixed{Size: 1}, m.Trace())
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for i := range 20 {
				if err := set(t, client, fmt.Sprint(canaryKey, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	text := exposition(t, m)
	require.Contains(t, text, `redislanes_request_duration_seconds_count{outcome="ok"} 200`)
	require.Contains(t, text, `redislanes_commands_total{result="success"} 200`)
	for _, n := range client.Stats().Nodes {
		require.Contains(t, text, fmt.Sprintf(`redislanes_pool_wait_duration_seconds_count{kind="fixed",node=%q,role="primary"} %d`,
			n.Pool.Addr, n.Pool.WaitCount))
	}
	require.NotContains(t, text, "canary")
}

func observedClient(t *testing.T, addrs []string, p pool.Config, trace *redislanes.Trace) *cluster.Client {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	client, err := cluster.Config{Pool: p, Trace: trace, RefreshEvery: -1}.New(ctx, addrs)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// TestHistogramsDoNotAllocate gates the hot path: by itself, and in a pipeline
// that is used again.
func TestHistogramsDoNotAllocate(t *testing.T) {
	trace, p := observed().Trace(), &redislanes.PoolInfo{Addr: "10.0.0.1:6379", Role: "primary", Kind: "fixed"}
	trace.PoolOpened(p)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		request(trace, redislanes.RequestInfo{Took: time.Millisecond, Commands: 10, Failed: 1, Trips: 3, Outcome: "error"})
		trace.EndGroup(context.Background(), redislanes.GroupStart{Pool: p}, redislanes.GroupInfo{Took: time.Millisecond})
		trace.Waited(p, 3*time.Millisecond)
	}))

	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := observedClient(t, real.Addrs(), pool.Laned{Lanes: 1}, metrics.New().Trace())
	requests := pipeline.New(client)
	keys := redistest.KeysInSlots(10, "allocs")
	ctx := servers.Within(t, time.Minute)
	send := func() {
		requests.Reset()
		for _, key := range keys {
			requests.IncrBy(key, 1)
			requests.Expire(key, time.Minute)
		}
		if err := requests.Do(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for range 300 { // until all that is used again is there
		send()
	}
	require.Less(t, servers.LeastAllocs(500, 0, send), 1.0)
}

// TestStrangeFigures: whatever it is told, a scrape survives it.
func TestStrangeFigures(t *testing.T) {
	m := metrics.New()
	trace := m.Trace()
	request(trace, redislanes.RequestInfo{Outcome: "strange"})
	request(trace, redislanes.RequestInfo{Took: math.MinInt64, Commands: -1, Failed: -5, Trips: -1})
	p := &redislanes.PoolInfo{Addr: "h\xff\"\n:6379"}
	trace.PoolOpened(p)
	trace.Waited(p, math.MaxInt64)
	require.True(t, strings.Contains(exposition(t, m), `redislanes_request_duration_seconds_count{outcome="unknown"} 0`))
}
