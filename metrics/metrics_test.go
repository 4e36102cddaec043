package metrics_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
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

// TestMetricsAreOneRegistration: what an Observer and a Collector have, before there
// is a client and after.
func TestMetricsAreOneRegistration(t *testing.T) {
	emulated := redistest.StartEmulated(t, 3)
	m := metrics.New(metrics.WithConstLabels(prometheus.Labels{"client": "limits"}))
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(m))
	require.Zero(t, testutil.CollectAndCount(m, "redislanes_slots_owned"), "there is no map yet")

	client := observedClient(t, emulated.Addrs(), pool.Laned{Lanes: 1}, m)
	for i := range 30 {
		require.NoError(t, set(t, client, fmt.Sprint(canaryKey, i)))
	}
	both := prometheus.NewRegistry()
	require.NoError(t, both.Register(metrics.NewCollector(client)))
	require.NoError(t, both.Register(metrics.NewObserver()))
	require.Equal(t, gathered(t, both), withoutWaits(gathered(t, reg)))
	text := exposition(t, m)
	require.Contains(t, text, `redislanes_slots_owned{client="limits"} 16384`)
	require.Contains(t, text, `redislanes_request_duration_seconds_count{client="limits",outcome="ok"} 30`)

	_, err := cluster.Config{Observer: m}.New(servers.Within(t, 10*time.Second), emulated.Addrs())
	require.ErrorContains(t, err, "Config.Observer: metrics: the Metrics are those of another client")
}

// withoutWaits is without what an Observer has of pools, of which a new one knows none.
func withoutWaits(names map[string]bool) map[string]bool {
	delete(names, "redislanes_pool_wait_duration_seconds")
	delete(names, "redislanes_trip_duration_seconds")
	return names
}

// TestNodesInMetrics: what each node took, and the bytes to it and from it.
func TestNodesInMetrics(t *testing.T) {
	emulated := redistest.StartEmulated(t, 2)
	m := metrics.New()
	client := observedClient(t, emulated.Addrs(), pool.Fixed{Size: 1}, m)
	requests := pipeline.New(client)
	keys := redistest.KeysInSlots(4, "nodes")
	const rounds = 5
	for range rounds {
		requests.Reset()
		for _, key := range keys {
			requests.IncrBy(key, 1)
		}
		require.NoError(t, requests.Do(servers.Within(t, 10*time.Second)))
	}
	text := exposition(t, m)
	for _, n := range client.Stats().Nodes {
		labels := fmt.Sprintf(`kind="fixed",node=%q,role="primary"`, n.Pool.Addr)
		require.Contains(t, text, fmt.Sprintf("redislanes_trip_duration_seconds_count{%s} %d", labels, rounds))
		require.Contains(t, text, fmt.Sprintf("redislanes_sent_bytes_total{%s} %d", labels, n.Pool.BytesSent))
		require.Contains(t, text, fmt.Sprintf("redislanes_received_bytes_total{%s} %d", labels, n.Pool.BytesReceived))
		const replies = len(":1\r\n")
		require.EqualValues(t, rounds*2*replies, n.Pool.BytesReceived, "two keys on each node")
		require.Greater(t, n.Pool.BytesSent, uint64(rounds*2*len("INCRBY")))
	}
}

// TestMetricsDoNotAllocate gates the hot path of what New returns, beside an observer
// that is told of everything.
func TestMetricsDoNotAllocate(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	for name, observer := range map[string]cluster.Observer{
		"alone": metrics.New(), "beside another": cluster.Observers(metrics.New(), counting{new(counts)}),
	} {
		t.Run(name, func(t *testing.T) {
			client := observedClient(t, real.Addrs(), pool.Laned{Lanes: 1}, observer)
			requests := pipeline.New(client)
			keys := redistest.KeysInSlots(10, "allocs")
			ctx := servers.Within(t, time.Minute)
			request := func() {
				requests.Reset()
				for _, key := range keys {
					requests.IncrBy(key, 1)
				}
				if err := requests.Do(ctx); err != nil {
					t.Fatal(err)
				}
			}
			for range 300 { // native histograms allocate each bucket when they first need it
				request()
			}
			require.Less(t, testing.AllocsPerRun(500, request), 1.0)
		})
	}
}

// counting is an observer that only counts.
type counting struct{ *counts }

type counts struct{ begun, ended, groups, groupsEnded int }

func (c counting) Pool(cluster.PoolInfo) cluster.PoolObserver { return c }
func (c counting) Request(cluster.RequestInfo)                {}
func (c counting) Waited(time.Duration)                       {}
func (c counting) Left()                                      {}

func (c counting) BeginRequest(ctx context.Context, s cluster.RequestStart) context.Context {
	if s.Command() != "INCRBY" && !s.Lent {
		panic("another command")
	}
	c.begun++
	return ctx
}

func (c counting) EndRequest(context.Context, cluster.RequestStart, cluster.RequestInfo) { c.ended++ }

func (c counting) BeginGroup(ctx context.Context, s cluster.GroupStart) context.Context {
	if s.Command() != "INCRBY" {
		panic("another command")
	}
	c.groups++
	return ctx
}

func (c counting) EndGroup(context.Context, cluster.GroupStart, cluster.GroupInfo) { c.groupsEnded++ }

// TestObserversBesideEachOther: each is told of all that it wants to know.
func TestObserversBesideEachOther(t *testing.T) {
	emulated := redistest.StartEmulated(t, 2)
	m, plain, counted := metrics.New(), metrics.NewObserver(), counting{new(counts)}
	client := observedClient(t, emulated.Addrs(), pool.Laned{Lanes: 1}, cluster.Observers(nil, m, plain, counted))
	for range 3 {
		require.NoError(t, client.Do(servers.Within(t, 10*time.Second), radix.Cmd(nil, "INCRBY", "a", "1")))
	}
	for _, c := range []prometheus.Collector{m, plain} {
		text := exposition(t, c)
		require.Contains(t, text, `redislanes_request_duration_seconds_count{outcome="ok"} 3`)
		require.Regexp(t, `redislanes_trip_duration_seconds_count{.*} 3`, text)
	}
	require.Equal(t, counts{3, 3, 3, 3}, *counted.counts)
	require.NoError(t, client.Do(servers.Within(t, 10*time.Second), radix.WithConn("a", func(ctx context.Context, c radix.Conn) error {
		return c.Do(ctx, radix.Cmd(nil, "INCRBY", "a", "1"))
	})))
	require.Equal(t, counts{4, 4, 4, 4}, *counted.counts)
	require.Regexp(t, `redislanes_trip_duration_seconds_count{.*} 3`, exposition(t, m), "but for what may block")
	require.Nil(t, cluster.Observers(nil, nil))
	require.Same(t, m, cluster.Observers(m))
}

// TestCountersAreTold: each flight is a request, with its groups.
func TestCountersAreTold(t *testing.T) {
	emulated := redistest.StartEmulated(t, 3)
	m, counted := metrics.New(), counting{new(counts)}
	client := observedClient(t, emulated.Addrs(), pool.Laned{Lanes: 1}, cluster.Observers(m, counted))
	counters := pipeline.NewCounters(client, pipeline.CountersConfig{})
	t.Cleanup(func() { require.NoError(t, counters.Close()) })
	var hits []pipeline.Hit
	for _, key := range redistest.KeysInSlots(6, "counters") {
		hits = append(hits, pipeline.Hit{Key: key, By: 1})
	}
	const rounds = 4
	for range rounds {
		require.NoError(t, counters.Hit(servers.Within(t, 10*time.Second), hits))
	}
	require.Equal(t, counted.begun, counted.ended)
	require.Equal(t, counted.groups, counted.groupsEnded)
	require.Equal(t, rounds*3, counted.groups, "one for each node")
	text := exposition(t, m)
	require.Contains(t, text, fmt.Sprintf(`redislanes_commands_total{result="success"} %d`, rounds*len(hits)))
	require.Contains(t, text, fmt.Sprintf(`redislanes_trips_total %d`, counted.groups))
	require.Contains(t, text, fmt.Sprintf(`redislanes_request_duration_seconds_count{outcome="ok"} %d`, counted.ended))
}
