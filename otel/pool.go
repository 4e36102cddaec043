package redisotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/redislanes/redislanes/cluster"
)

// Pool is part of cluster.Observer.
func (o *Observer) Pool(p cluster.PoolInfo) cluster.PoolObserver {
	node := append(append([]attribute.KeyValue(nil), o.common...), serverAttrs(p.Addr)...)
	node = append(node, roleKey.String(p.Role))
	return &poolObserver{
		of: o, server: serverAttrs(p.Addr), poolAttrs: o.poolAttrs(p.Addr, p.Role),
		node: []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(node...))},
		pool: []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(o.poolAttrs(p.Addr, p.Role)...))},
	}
}

// poolAttrs are the attributes of a pool: a node that is promoted has two.
func (o *Observer) poolAttrs(addr, role string) []attribute.KeyValue {
	return append(append([]attribute.KeyValue(nil), o.common...), semconv.DBClientConnectionPoolName(addr+"/"+role))
}

// A poolObserver has the attributes of one pool.
type poolObserver struct {
	of        *Observer
	server    []attribute.KeyValue
	poolAttrs []attribute.KeyValue
	node      []metric.RecordOption
	pool      []metric.RecordOption
}

var (
	_ cluster.ConnObserver  = (*poolObserver)(nil)
	_ cluster.DialObserver  = (*poolObserver)(nil)
	_ cluster.GroupObserver = (*poolObserver)(nil)
)

// Waited is part of cluster.PoolObserver.
func (p *poolObserver) Waited(wait time.Duration) {
	p.of.instruments.waits.Inst().Record(context.Background(), wait.Seconds(), p.pool...)
}

// Left is part of cluster.PoolObserver.
func (p *poolObserver) Left() {}

// Dialed is part of cluster.ConnObserver; DialEnded knows more.
func (p *poolObserver) Dialed(time.Duration, error) {}

// DialEnded is part of cluster.DialObserver.
func (p *poolObserver) DialEnded(d cluster.DialInfo) {
	ctx := context.Background()
	if d.Err == nil {
		p.of.instruments.dials.Inst().Record(ctx, d.Took.Seconds(), p.pool...)
		return
	}
	p.of.instruments.dialErrors.Add(ctx, 1, metric.WithAttributes(p.poolAttrs...))
}

// Closed is part of cluster.ConnObserver.
func (p *poolObserver) Closed(reason string, _ time.Duration, _ error) {
	p.of.instruments.closed.Add(context.Background(), 1,
		metric.WithAttributes(p.poolAttrs...), metric.WithAttributes(reasonKey.String(reason)))
}

// BeginGroup is part of cluster.GroupObserver. The only group of a request has no span
// unless it fails: it would say what the request's says.
func (p *poolObserver) BeginGroup(ctx context.Context, s cluster.GroupStart) context.Context {
	if p.of.running(ctx) == nil || only(s) {
		return ctx
	}
	return p.begin(ctx, s, time.Now())
}

func only(s cluster.GroupStart) bool { return s.Groups == 1 && s.Wave == 1 }

// begin begins the span of a group.
func (p *poolObserver) begin(ctx context.Context, s cluster.GroupStart, at time.Time) context.Context {
	op := p.of.names.get(operationOf(s.Command(), s.Commands), p.of.named)
	ctx, span := p.of.tracer.Start(ctx, op.span,
		append(op.start[:len(op.start):len(op.start)], trace.WithTimestamp(at), trace.WithAttributes(p.server...))...)
	if !span.IsRecording() {
		return ctx
	}
	setBatch(span, s.Commands)
	if s.Retried > 0 {
		span.SetAttributes(retriesKey.Int(s.Retried))
	}
	if s.Redirected > 0 {
		span.SetAttributes(redirectsKey.Int(s.Redirected))
	}
	return context.WithValue(ctx, runningKey{p.of}, &running{Span: span, began: at, group: true})
}

// EndGroup is part of cluster.GroupObserver.
func (p *poolObserver) EndGroup(ctx context.Context, s cluster.GroupStart, g cluster.GroupInfo) {
	if h := p.of.instruments.groups; h.Enabled(ctx) {
		h.Record(ctx, g.Took.Seconds(), p.node...)
	}
	span := p.of.running(ctx)
	if span != nil && only(s) && g.Outcome != cluster.OutcomeOK {
		span = p.of.running(p.begin(ctx, s, span.began))
	}
	if span == nil || !span.group {
		return
	}
	span.tell(g.Outcome, g.Code, g.Err)
	end, now := span.began.Add(g.Took), time.Now()
	if end.After(now) { // it began a little before its span
		end = now
	}
	span.End(trace.WithTimestamp(end))
}
