package redisotel_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	redisotel "github.com/redislanes/redislanes/otel"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

func hostPort(t *testing.T, addr string) (string, int64) {
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	n, err := strconv.ParseInt(port, 10, 64)
	require.NoError(t, err)
	return host, n
}

// TestSpanOfACommand: one span, below that of the caller, with the attributes of the
// conventions and no others.
func TestSpanOfACommand(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	b := newBackend(t, sdktrace.AlwaysSample(), attribute.String("limits.region", "eu"))
	client := b.client(t, cluster.Config{}, e.Addrs())
	ctx, parent := b.tracers.Tracer("test").Start(within(t), "parent")
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "canary-key", "canary-value")))
	spans := b.taken()
	require.Len(t, spans, 1)
	span := spans[0]
	require.Equal(t, "SET", span.Name)
	require.Equal(t, trace.SpanKindClient, span.SpanKind)
	require.Equal(t, parent.SpanContext().SpanID(), span.Parent.SpanID())
	require.Equal(t, codes.Unset, span.Status.Code)
	host, port := hostPort(t, e.Addrs()[0])
	require.Equal(t, map[string]any{
		"db.system.name": "redis", "db.operation.name": "SET", "server.address": host, "server.port": port,
		"limits.region": "eu",
	}, attrs(span.Attributes))
	require.NotContains(t, fmt.Sprint(spans, b.metrics(t)), "canary")
	parent.End()
}

// TestSpansOfAPipeline: one of the request, and one for each node below it.
func TestSpansOfAPipeline(t *testing.T) {
	e := redistest.StartEmulated(t, 3)
	b := newBackend(t, sdktrace.AlwaysSample())
	client := b.client(t, cluster.Config{}, e.Addrs())
	p := pipeline.New(client)
	for _, key := range redistest.KeysInSlots(9, "spans") {
		p.IncrBy(key, 1)
	}
	require.NoError(t, p.Do(within(t)))
	spans := b.taken()
	require.Len(t, spans, 4)
	request := spans[3]
	require.Equal(t, "PIPELINE INCRBY", request.Name)
	require.EqualValues(t, 9, attrs(request.Attributes)["db.operation.batch.size"])
	require.NotContains(t, attrs(request.Attributes), "server.address")
	ports := make(map[any]bool)
	for _, group := range spans[:3] {
		require.Equal(t, "PIPELINE INCRBY", group.Name)
		require.Equal(t, request.SpanContext.SpanID(), group.Parent.SpanID())
		require.EqualValues(t, 3, attrs(group.Attributes)["db.operation.batch.size"])
		require.False(t, group.EndTime.After(request.EndTime))
		ports[attrs(group.Attributes)["server.port"]] = true
	}
	require.Len(t, ports, 3)

	p.Reset()
	p.IncrBy("a", 1)
	p.Expire("a", time.Minute)
	require.NoError(t, p.Do(within(t)))
	spans = b.taken()
	require.Len(t, spans, 1, "one node had all of it")
	require.Equal(t, "PIPELINE", spans[0].Name)
}

// TestSpansOfFailures: an error reply, a redirect, a node that is gone.
func TestSpansOfFailures(t *testing.T) {
	e := redistest.StartEmulated(t, 2)
	ways := redistest.StartProxies(t, e.Addrs())
	b := newBackend(t, sdktrace.AlwaysSample())
	client := b.client(t, cluster.Config{RetryWindow: -1, AddrMap: ways.AddrMap}, e.Addrs())
	key := redistest.KeysInSlots(1, "trouble")[0]
	ctx := within(t)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", key, "text")))
	b.taken()

	require.Error(t, client.Do(ctx, radix.Cmd(nil, "LPUSH", key, "1")))
	spans := b.taken()
	require.Len(t, spans, 2, "the group that failed is told by itself, too")
	for _, span := range spans {
		require.Equal(t, codes.Error, span.Status.Code)
		require.Equal(t, "WRONGTYPE", attrs(span.Attributes)["db.response.status_code"])
		require.Equal(t, "WRONGTYPE", attrs(span.Attributes)["error.type"])
		require.Equal(t, "error", attrs(span.Attributes)["redislanes.outcome"])
	}

	from := e.Owner(cluster.Slot(key))
	e.Move(cluster.Slot(key), 1-from)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "GET", key)))
	spans = b.taken()
	require.Len(t, spans, 3)
	require.Equal(t, "MOVED", attrs(spans[0].Attributes)["error.type"])
	require.Equal(t, codes.Unset, spans[0].Status.Code, "the redirect was followed")
	require.Equal(t, codes.Unset, spans[1].Status.Code)
	require.EqualValues(t, 1, attrs(spans[1].Attributes)["redislanes.redirects"])
	require.EqualValues(t, 1, attrs(spans[2].Attributes)["redislanes.redirects"])
	require.Equal(t, codes.Unset, spans[2].Status.Code, "the request has succeeded")

	gone := ways[e.Addrs()[1-from]]
	gone.Refuse(true)
	gone.Reset()
	require.Eventually(t, func() bool {
		return client.Do(ctx, radix.Cmd(nil, "GET", key)) != nil
	}, 10*time.Second, time.Millisecond)
	spans = b.taken()
	last := spans[len(spans)-1]
	require.Equal(t, codes.Error, last.Status.Code)
	require.Contains(t, []any{"down", "not_sent", "unknown"}, attrs(last.Attributes)["error.type"])
	require.NotContains(t, attrs(last.Attributes), "db.response.status_code")
	require.Contains(t, b.metrics(t), "db.client.operation.duration")
}

// TestSpanOfADedicatedConnection: actions that have a connection to themselves are requests, too.
func TestSpanOfADedicatedConnection(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	b := newBackend(t, sdktrace.AlwaysSample())
	client := b.client(t, cluster.Config{}, e.Addrs())
	ctx := within(t)
	require.NoError(t, client.Do(ctx, radix.WithConn("a", func(ctx context.Context, c radix.Conn) error {
		return c.Do(ctx, radix.Cmd(nil, "INCR", "a"))
	})))
	spans := b.taken()
	require.Len(t, spans, 1)
	require.Equal(t, "redis", spans[0].Name, "it may send anything")
	require.Contains(t, attrs(spans[0].Attributes), "server.port")
}

// TestMetrics: those of the conventions, with what the client did.
func TestMetrics(t *testing.T) {
	e := redistest.StartEmulated(t, 2)
	b := newBackend(t, sdktrace.NeverSample())
	client := b.client(t, cluster.Config{Pool: pool.Fixed{Size: 3}}, e.Addrs())
	ctx := within(t)
	keys := redistest.KeysInSlots(2, "metrics")
	const rounds = 5
	for range rounds {
		for _, key := range keys {
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", key)))
		}
	}
	require.Error(t, client.Do(ctx, radix.Cmd(nil, "LPUSH", keys[0], "1")))
	require.Eventually(t, func() bool {
		open := 0
		for _, n := range client.Stats().Nodes {
			open += n.Pool.Open - n.Pool.InUse
		}
		return open == 6
	}, 10*time.Second, time.Millisecond)
	require.Empty(t, b.taken(), "no span is sampled")
	all := b.metrics(t)

	calls := make(map[string]uint64)
	for _, p := range all["db.client.operation.duration"].(metricdata.Histogram[float64]).DataPoints {
		a := attrs(p.Attributes.ToSlice())
		require.Equal(t, "redis", a["db.system.name"])
		require.Contains(t, a, "server.port")
		calls[fmt.Sprintf("%v|%v|%v", a["db.operation.name"], a["error.type"], a["db.response.status_code"])] += p.Count
	}
	require.Equal(t, map[string]uint64{"INCR|<nil>|<nil>": 2 * rounds, "LPUSH|WRONGTYPE|WRONGTYPE": 1}, calls)

	groups := uint64(0)
	for _, p := range all["redislanes.group.duration"].(metricdata.Histogram[float64]).DataPoints {
		groups += p.Count
	}
	require.EqualValues(t, 2*rounds+1, groups)

	counts := make(map[string]int64)
	for _, p := range all["db.client.connection.count"].(metricdata.Sum[int64]).DataPoints {
		a := attrs(p.Attributes.ToSlice())
		require.Contains(t, a["db.client.connection.pool.name"], "/primary")
		counts[a["db.client.connection.state"].(string)] += p.Value
	}
	require.Equal(t, map[string]int64{"used": 0, "idle": 6}, counts)
	sum := func(name string) (n int64) {
		for _, p := range all[name].(metricdata.Sum[int64]).DataPoints {
			n += p.Value
		}
		return n
	}
	require.EqualValues(t, 6, sum("db.client.connection.max"))
	require.EqualValues(t, 6, sum("db.client.connection.idle.max"))
	require.Zero(t, sum("db.client.connection.pending_requests"))
	require.EqualValues(t, cluster.SlotCount, sum("redislanes.slots.owned"))
	require.EqualValues(t, cluster.SlotCount, sum("redislanes.topology.moved"))
	require.EqualValues(t, 2, sum("redislanes.topology.joined"))
	require.Zero(t, sum("redislanes.node.down"))
	require.Eventually(t, func() bool { // a dial is told of when its connection is open already
		dialled := uint64(0)
		for _, p := range b.metrics(t)["db.client.connection.create_time"].(metricdata.Histogram[float64]).DataPoints {
			dialled += p.Count
		}
		return dialled == 6
	}, 10*time.Second, time.Millisecond)
}

// TestCollectingBesideRequests: the attributes of metrics are those of the observer, whatever runs
// beside a collection. "app" is in front of the package's own attributes in the order of keys.
func TestCollectingBesideRequests(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	b := newBackend(t, sdktrace.NeverSample(), attribute.String("app", "limits"))
	client := b.client(t, cluster.Config{}, e.Addrs())
	var requests sync.WaitGroup
	requests.Go(func() {
		for i := range 50 { // each a new operation for the caches
			_ = client.Cmd(within(t), fmt.Sprint("UNKNOWN", i)).Err()
		}
	})
	for range 50 {
		b.metrics(t)
	}
	requests.Wait()
	durations := b.metrics(t)["db.client.operation.duration"].(metricdata.Histogram[float64])
	for _, point := range durations.DataPoints {
		app, _ := point.Attributes.Value("app")
		system, _ := point.Attributes.Value("db.system.name")
		require.Equal(t, []string{"limits", "redis"}, []string{app.AsString(), system.AsString()})
	}
}

// TestBesideAnother: two observers have spans of their own.
func TestBesideAnother(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	a, b := newBackend(t, sdktrace.AlwaysSample()), newBackend(t, sdktrace.AlwaysSample())
	client := a.client(t, cluster.Config{Trace: redislanes.JoinTraces(a.observer.Trace(), b.observer.Trace())}, e.Addrs())
	t.Cleanup(func() { require.NoError(t, b.observer.Close()) })
	require.NoError(t, client.Do(within(t), radix.Cmd(nil, "INCR", "a")))
	require.Len(t, a.taken(), 1)
	require.Len(t, b.taken(), 1)
}

// TestNothingForWhatIsNotRecorded: a request costs no more memory for its spans than the
// tracer itself takes, and none without a tracer.
func TestNothingForWhatIsNotRecorded(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	off, err := redisotel.Config{TracerProvider: noop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()}.New()
	require.NoError(t, err)
	silent, pool := off.Trace(), &redislanes.PoolInfo{Addr: e.Addrs()[0], Role: "primary", Kind: "laned"}
	silent.PoolOpened(pool)
	ctx := within(t)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		requestOf(ctx, silent, pool)
	}))
	metered := newBackend(t, sdktrace.NeverSample())
	sampled := metered.observer.Trace()
	sampled.PoolOpened(pool)
	tracer := metered.tracers.Tracer("test")
	bare := testing.AllocsPerRun(1000, func() { _, _ = tracer.Start(ctx, "GET", trace.WithSpanKind(trace.SpanKindClient)) })
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { requestOf(ctx, sampled, pool) }), bare+2,
		"two histograms, one allocation each in the SDK")
}

// requestOf tells of one request with one group.
func requestOf(ctx context.Context, trace *redislanes.Trace, p *redislanes.PoolInfo) {
	request, group := redislanes.RequestStart{Commands: 1}, redislanes.GroupStart{Pool: p, Commands: 1, Attempt: 1, Groups: 1}
	in := trace.BeginRequest(ctx, request)
	below := trace.BeginGroup(in, group)
	trace.EndGroup(below, group, redislanes.GroupInfo{Took: time.Millisecond})
	trace.EndRequest(in, request, redislanes.RequestInfo{Took: time.Millisecond, Commands: 1, Trips: 1, Addr: "10.0.0.1:6379"})
}

func TestSettings(t *testing.T) {
	_, err := redisotel.Config{Attributes: []attribute.KeyValue{attribute.String("server.port", "1")}}.New()
	require.ErrorContains(t, err, `the key "server.port" is one that the package sets`)
	_, err = redisotel.Config{Attributes: []attribute.KeyValue{{}}}.New()
	require.ErrorContains(t, err, "is empty")

	e := redistest.StartEmulated(t, 1)
	b := newBackend(t, sdktrace.AlwaysSample())
	_ = b.client(t, cluster.Config{}, e.Addrs())
	_, err = cluster.Config{Trace: b.observer.Trace()}.New(within(t), e.Addrs())
	require.ErrorContains(t, err, "this Observer already serves another client")
	o, err := redisotel.Config{}.New()
	require.NoError(t, err, "the global providers")
	require.NoError(t, o.Close())
}

// TestZeroObserver: a client with its trace is not made, and the error says what to do.
func TestZeroObserver(t *testing.T) {
	o := new(redisotel.Observer)
	_, err := cluster.Config{Trace: o.Trace()}.New(within(t), redistest.StartEmulated(t, 1).Addrs())
	require.ErrorContains(t, err, "make it with redisotel.Config.New")
	require.NoError(t, o.Close())
}
