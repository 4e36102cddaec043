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

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/metrics"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestMetricsAreOneRegistration: histograms and what a Collector has, before there is a
// client and after.
func TestMetricsAreOneRegistration(t *testing.T) {
	emulated := redistest.StartEmulated(t, 3)
	m := metrics.New()
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(m))
	require.Zero(t, testutil.CollectAndCount(m, "redislanes_slots_owned"), "there is no map yet")

	client := observedClient(t, emulated.Addrs(), pool.Laned{Lanes: 1}, m.Trace())
	for i := range 30 {
		require.NoError(t, set(t, client, fmt.Sprint(canaryKey, i)))
	}
	collector := prometheus.NewRegistry()
	require.NoError(t, collector.Register(metrics.NewCollector(client)))
	all := gathered(t, reg)
	for name := range gathered(t, collector) {
		require.Contains(t, all, name)
	}
	text := exposition(t, m)
	require.Contains(t, text, `redislanes_slots_owned 16384`)
	require.Contains(t, text, `redislanes_request_duration_seconds_count{outcome="ok"} 30`)

	_, err := cluster.Config{Trace: m.Trace()}.New(servers.Within(t, 10*time.Second), emulated.Addrs())
	require.ErrorContains(t, err, "Config.Trace: metrics: these Metrics already serve another client")
}

// TestNodesInMetrics: what each node took, and the bytes to it and from it.
func TestNodesInMetrics(t *testing.T) {
	emulated := redistest.StartEmulated(t, 2)
	m := metrics.New()
	client := observedClient(t, emulated.Addrs(), pool.Fixed{Size: 1}, m.Trace())
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
	}
}

// TestMetricsDoNotAllocate gates the hot path of what New returns, beside a trace that is
// told of everything.
func TestMetricsDoNotAllocate(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	for name, trace := range map[string]*redislanes.Trace{
		"alone": metrics.New().Trace(), "beside another": redislanes.JoinTraces(metrics.New().Trace(), new(counts).trace()),
	} {
		t.Run(name, func(t *testing.T) {
			client := observedClient(t, real.Addrs(), pool.Laned{Lanes: 1}, trace)
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
			for range 300 { // until all that is used again is there
				request()
			}
			require.Less(t, servers.LeastAllocs(500, 0, request), 1.0)
		})
	}
}

// counts are what a trace is told, that only counts.
type counts struct{ begun, ended, groups, groupsEnded int }

func (c *counts) trace() *redislanes.Trace {
	return &redislanes.Trace{
		BeginRequest: func(ctx context.Context, s redislanes.RequestStart) context.Context {
			if s.Command.String() != "INCRBY" && !s.Dedicated {
				panic("another command")
			}
			c.begun++
			return ctx
		},
		EndRequest: func(context.Context, redislanes.RequestStart, redislanes.RequestInfo) { c.ended++ },
		BeginGroup: func(ctx context.Context, s redislanes.GroupStart) context.Context {
			if s.Command.String() != "INCRBY" {
				panic("another command")
			}
			c.groups++
			return ctx
		},
		EndGroup: func(context.Context, redislanes.GroupStart, redislanes.GroupInfo) { c.groupsEnded++ },
	}
}

// TestTracesBesideEachOther: each is told of all that it wants to know.
func TestTracesBesideEachOther(t *testing.T) {
	emulated := redistest.StartEmulated(t, 2)
	m, other, counted := metrics.New(), metrics.New(), new(counts)
	client := observedClient(t, emulated.Addrs(), pool.Laned{Lanes: 1}, redislanes.JoinTraces(nil, m.Trace(), other.Trace(), counted.trace()))
	for range 3 {
		require.NoError(t, client.Do(servers.Within(t, 10*time.Second), radix.Cmd(nil, "INCRBY", "a", "1")))
	}
	for _, c := range []prometheus.Collector{m, other} {
		text := exposition(t, c)
		require.Contains(t, text, `redislanes_request_duration_seconds_count{outcome="ok"} 3`)
		require.Regexp(t, `redislanes_trip_duration_seconds_count{.*} 3`, text)
	}
	require.Equal(t, counts{3, 3, 3, 3}, *counted)
	require.NoError(t, client.Do(servers.Within(t, 10*time.Second), radix.WithConn("a", func(ctx context.Context, c radix.Conn) error {
		return c.Do(ctx, radix.Cmd(nil, "INCRBY", "a", "1"))
	})))
	require.Equal(t, counts{4, 4, 3, 3}, *counted)
	require.Regexp(t, `redislanes_trip_duration_seconds_count{.*} 3`, exposition(t, m), "but for what may block")
}

// TestCountersAreTold: each flight is a request, with its groups.
func TestCountersAreTold(t *testing.T) {
	emulated := redistest.StartEmulated(t, 3)
	m, counted := metrics.New(), new(counts)
	client := observedClient(t, emulated.Addrs(), pool.Laned{Lanes: 1}, redislanes.JoinTraces(m.Trace(), counted.trace()))
	counters := pipeline.CountersConfig{}.New(client)
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
