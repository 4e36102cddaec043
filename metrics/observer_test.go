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

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// observed has seen a request of each outcome, and waits for two nodes.
func observed() *metrics.Observer {
	o := metrics.NewObserver()
	for i := range cluster.Outcomes {
		o.Request(cluster.RequestInfo{Took: time.Duration(i+1) * time.Millisecond, Commands: 10, Failed: i, Trips: 3, Outcome: cluster.Outcome(i)})
	}
	for _, addr := range []string{"10.0.0.1:6379", "10.0.0.2:6379"} {
		o.Pool(cluster.PoolInfo{Addr: addr, Role: "primary", Kind: "fixed"}).Waited(3 * time.Millisecond)
	}
	return o
}

func TestObserver(t *testing.T) {
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
	require.Equal(t, cluster.Outcomes+2, native, "native buckets beside the classic ones")
}

// TestEverythingFromTheStart: a rate needs a value to start from.
func TestEverythingFromTheStart(t *testing.T) {
	text := exposition(t, metrics.NewObserver())
	for i := range cluster.Outcomes {
		require.Contains(t, text, fmt.Sprintf("redislanes_request_duration_seconds_count{outcome=%q} 0", cluster.Outcome(i)))
	}
	require.Contains(t, text, `redislanes_commands_total{result="error"} 0`)
}

// TestWaitsEndWithTheNode: the series goes when the last of the node's pools
// does, and a node that is back before that keeps it.
func TestWaitsEndWithTheNode(t *testing.T) {
	const series = "redislanes_pool_wait_duration_seconds"
	o := metrics.NewObserver()
	info := cluster.PoolInfo{Addr: "10.0.0.1:6379", Role: "primary", Kind: "laned"}
	first, second := o.Pool(info), o.Pool(info)
	other := o.Pool(cluster.PoolInfo{Addr: "10.0.0.1:6379", Role: "replica", Kind: "laned"})
	require.Equal(t, 2, testutil.CollectAndCount(o, series))
	first.Left()
	second.Waited(time.Millisecond)
	require.Contains(t, exposition(t, o), series+`_count{kind="laned",node="10.0.0.1:6379",role="primary"} 1`)
	second.Left()
	require.Equal(t, 1, testutil.CollectAndCount(o, series))
	other.Left()
	require.Zero(t, testutil.CollectAndCount(o, series))
	first.Waited(time.Millisecond) // too late, and harmless
	require.Zero(t, testutil.CollectAndCount(o, series))
}

// TestObserverOfAClient: all figures agree with those that the client counts.
func TestObserverOfAClient(t *testing.T) {
	emulated := redistest.StartEmulated(t, 3)
	o := metrics.NewObserver()
	client := observedClient(t, emulated.Addrs(), pool.Fixed{Size: 1}, o)
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
	text := exposition(t, o)
	require.Contains(t, text, `redislanes_request_duration_seconds_count{outcome="ok"} 200`)
	require.Contains(t, text, `redislanes_commands_total{result="success"} 200`)
	for _, n := range client.Stats().Nodes {
		require.Contains(t, text, fmt.Sprintf(`redislanes_pool_wait_duration_seconds_count{kind="fixed",node=%q,role="primary"} %d`,
			n.Pool.Addr, n.Pool.WaitCount))
	}
	require.NotContains(t, text, "canary")

	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(o))
	require.NoError(t, reg.Register(metrics.NewCollector(client)), "both fit into one registry")
	_, err := reg.Gather()
	require.NoError(t, err)
}

func observedClient(t *testing.T, addrs []string, p pool.Config, o cluster.Observer) *cluster.Client {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	client, err := cluster.Config{Pool: p, Observer: o, RefreshEvery: -1}.New(ctx, addrs)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// TestObserverDoesNotAllocate gates the hot path: by itself, and in a pipeline
// that is used again.
func TestObserverDoesNotAllocate(t *testing.T) {
	o := observed()
	p := o.Pool(cluster.PoolInfo{Addr: "10.0.0.1:6379", Role: "primary", Kind: "fixed"})
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		o.Request(cluster.RequestInfo{Took: time.Millisecond, Commands: 10, Failed: 1, Trips: 3, Outcome: cluster.OutcomeError})
		p.Waited(3 * time.Millisecond)
	}))

	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := observedClient(t, real.Addrs(), pool.Laned{Lanes: 1}, metrics.NewObserver())
	requests := pipeline.New(client)
	keys := redistest.KeysInSlots(10, "allocs")
	ctx := servers.Within(t, time.Minute)
	request := func() {
		requests.Reset()
		for _, key := range keys {
			requests.IncrBy(key, 1)
			requests.Expire(key, time.Minute)
		}
		if err := requests.Do(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for range 300 { // native histograms allocate each bucket when they first need it
		request()
	}
	require.Less(t, testing.AllocsPerRun(500, request), 1.0)
}

func TestObserverLabels(t *testing.T) {
	for _, name := range []string{"node", "role", "kind", "outcome", "result", "le", "", "\xff"} {
		o := metrics.NewObserver(metrics.WithConstLabels(prometheus.Labels{name: "x"}))
		require.ErrorContains(t, prometheus.NewPedanticRegistry().Register(o), "WithConstLabels", "%q", name)
		o.Request(cluster.RequestInfo{}) // it keeps nothing, and nothing breaks
		require.Nil(t, o.Pool(cluster.PoolInfo{}))
		ch := make(chan prometheus.Metric, 1)
		o.Collect(ch)
		require.Empty(t, ch)
	}
	reg := prometheus.NewPedanticRegistry()
	for _, client := range []string{"limits", "sessions"} {
		labels := prometheus.Labels{"client": client}
		o := metrics.NewObserver(metrics.WithConstLabels(labels))
		require.NoError(t, reg.Register(o))
		require.NoError(t, reg.Register(metrics.NewCollector(busy(), metrics.WithConstLabels(labels))))
		require.Contains(t, exposition(t, o), `redislanes_trips_total{client="`+client+`"} 0`)
	}
}

// TestStrangeFigures: whatever it is told, a scrape survives it.
func TestStrangeFigures(t *testing.T) {
	o := metrics.NewObserver()
	o.Request(cluster.RequestInfo{Outcome: 200})
	o.Request(cluster.RequestInfo{Took: math.MinInt64, Commands: -1, Failed: -5, Trips: -1})
	o.Pool(cluster.PoolInfo{Addr: "h\xff\"\n:6379"}).Waited(math.MaxInt64)
	require.True(t, strings.Contains(exposition(t, o), `redislanes_request_duration_seconds_count{outcome="unknown"} 0`))
}
