package redisotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/redislanes/redislanes"
)

// A poolAttrs has the attributes of one pool. They are built once.
type poolAttrs struct {
	server []attribute.KeyValue
	all    []attribute.KeyValue
	node   []metric.RecordOption
	pool   []metric.RecordOption
}

func (o *Observer) poolOpened(p *redislanes.PoolInfo) { o.pools.Store(p, o.newPoolAttrs(p)) }

func (o *Observer) poolClosed(p *redislanes.PoolInfo) { o.pools.Delete(p) }

// of returns the attributes of the pool, which may be closed.
func (o *Observer) of(p *redislanes.PoolInfo) *poolAttrs {
	if of, ok := o.pools.Load(p); ok {
		return of.(*poolAttrs)
	}
	return o.newPoolAttrs(p)
}

func (o *Observer) newPoolAttrs(p *redislanes.PoolInfo) *poolAttrs {
	node := append(o.common.ToSlice(), serverAttrs(p.Addr)...)
	node = append(node, roleKey.String(p.Role))
	all := o.poolAttrs(p.Addr, p.Role)
	return &poolAttrs{
		server: serverAttrs(p.Addr), all: all,
		node: []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(node...))},
		pool: []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(all...))},
	}
}

// poolAttrs are the attributes of a pool: a node that is promoted has two.
func (o *Observer) poolAttrs(addr, role string) []attribute.KeyValue {
	return append(o.common.ToSlice(), semconv.DBClientConnectionPoolName(addr+"/"+role))
}

func (o *Observer) waited(p *redislanes.PoolInfo, took time.Duration) {
	o.instruments.waits.Inst().Record(context.Background(), took.Seconds(), o.of(p).pool...)
}

func (o *Observer) dialed(p *redislanes.PoolInfo, took time.Duration, err error) {
	ctx := context.Background()
	if err == nil {
		o.instruments.dials.Inst().Record(ctx, took.Seconds(), o.of(p).pool...)
		return
	}
	o.instruments.dialErrors.Add(ctx, 1, metric.WithAttributes(o.of(p).all...))
}

func (o *Observer) connClosed(p *redislanes.PoolInfo, reason string, _ error) {
	o.instruments.closed.Add(context.Background(), 1,
		metric.WithAttributes(o.of(p).all...), metric.WithAttributes(reasonKey.String(reason)))
}

// beginGroup begins no span for the only group of a request, which has one if it fails:
// it would say what the request's says.
func (o *Observer) beginGroup(ctx context.Context, s redislanes.GroupStart) context.Context {
	if o.running(ctx) == nil || only(s) {
		return ctx
	}
	return o.begin(ctx, s, time.Now())
}

func only(s redislanes.GroupStart) bool { return s.Groups == 1 && s.Attempt == 1 }

func (o *Observer) begin(ctx context.Context, s redislanes.GroupStart, at time.Time) context.Context {
	op := o.names.get(operationOf(nameOf(s.Command), s.Commands), o.named)
	ctx, span := o.tracer.Start(ctx, op.span,
		append(op.start[:len(op.start):len(op.start)], trace.WithTimestamp(at), trace.WithAttributes(o.of(s.Pool).server...))...)
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
	return context.WithValue(ctx, runningKey{o}, &running{Span: span, began: at, group: true})
}

func (o *Observer) endGroup(ctx context.Context, s redislanes.GroupStart, g redislanes.GroupInfo) {
	if h := o.instruments.groups; h.Enabled(ctx) {
		h.Record(ctx, g.Took.Seconds(), o.of(s.Pool).node...)
	}
	span := o.running(ctx)
	if span != nil && only(s) && g.Outcome != "ok" {
		span = o.running(o.begin(ctx, s, span.began))
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
