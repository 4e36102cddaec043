package redisotel

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/redislanes/redislanes"
)

// An Observer makes spans and metrics of what one client does. Make it with [Config.New].
// All methods are safe for concurrent use.
type Observer struct {
	common      attribute.Set // of all spans and metrics
	tracer      trace.Tracer  // nil: no spans
	instruments instruments
	stats       statistics

	names   cache[operation, named]
	records cache[result, []metric.RecordOption]
	pools   sync.Map // *poolAttrs by *redislanes.PoolInfo
}

// Trace returns what the client tells, for cluster.Config.Trace. With a second client,
// cluster.Config.New fails: each client needs an Observer of its own.
func (o *Observer) Trace() *redislanes.Trace {
	return &redislanes.Trace{
		BeginRequest: o.beginRequest, EndRequest: o.endRequest, BeginGroup: o.beginGroup, EndGroup: o.endGroup,
		PoolOpened: o.poolOpened, PoolClosed: o.poolClosed, Waited: o.waited, Dialed: o.dialed, ConnClosed: o.connClosed,
		TopologyChanged: o.topologyChanged, Stats: o.readStats,
	}
}

// A running is a span that is recorded, and that this observer has begun: the span in a
// context may be another one's.
type running struct {
	trace.Span
	began time.Time
	group bool
}

// A runningKey is of one observer: several may be told of one request.
type runningKey struct{ *Observer }

// running returns the span in the context, nil if it is not recorded.
func (o *Observer) running(ctx context.Context) *running {
	r, _ := ctx.Value(runningKey{o}).(*running)
	return r
}

func (o *Observer) beginRequest(ctx context.Context, s redislanes.RequestStart) context.Context {
	if o.tracer == nil {
		return ctx
	}
	op := o.names.get(operationOf(nameOf(s.Command), s.Commands), o.named)
	ctx, span := o.tracer.Start(ctx, op.span, op.start...)
	if !span.IsRecording() {
		return ctx
	}
	setBatch(span, s.Commands)
	return context.WithValue(ctx, runningKey{o}, &running{Span: span, began: time.Now()})
}

// nameOf returns the name of commands; "" if there is none.
func nameOf(command fmt.Stringer) string {
	if command == nil {
		return ""
	}
	return command.String()
}

// setBatch sets the size of a batch: one command is none.
func setBatch(span trace.Span, commands int) {
	if commands > 1 {
		span.SetAttributes(semconv.DBOperationBatchSize(commands))
	}
}

func (o *Observer) endRequest(ctx context.Context, s redislanes.RequestStart, r redislanes.RequestInfo) {
	if o.instruments.operations.Enabled(ctx) {
		key := result{
			operation: operationOf(nameOf(s.Command), s.Commands), addr: r.Addr, code: r.Code, failure: errorType(r.Outcome, r.Code, r.Err),
		}
		o.instruments.operations.Inst().Record(ctx, r.Took.Seconds(), o.records.get(key, o.record)...)
	}
	span := o.running(ctx)
	if span == nil {
		return
	}
	if r.Addr != "" {
		span.SetAttributes(serverAttrs(r.Addr)...)
	}
	if r.Retries > 0 {
		span.SetAttributes(retriesKey.Int(r.Retries))
	}
	if r.Redirects > 0 {
		span.SetAttributes(redirectsKey.Int(r.Redirects))
	}
	span.tell(r.Outcome, r.Code, r.Err)
	span.End()
}

// tell sets what says how it has ended, unless well.
func (r *running) tell(outcome string, code string, err error) {
	if outcome == "ok" {
		return
	}
	r.SetAttributes(errorAttrs(outcome, code, err)...)
	r.SetAttributes(outcomeKey.String(outcome))
	if r.group && (code == "MOVED" || code == "ASK") {
		return // if it is not followed, its request has failed
	}
	r.SetStatus(codes.Error, errorType(outcome, code, err))
}

func (o *Observer) topologyChanged(joined, left []string, moved int) {
	ctx, common := context.Background(), metric.WithAttributeSet(o.common)
	o.instruments.joined.Add(ctx, int64(len(joined)), common)
	o.instruments.left.Add(ctx, int64(len(left)), common)
	o.instruments.moved.Add(ctx, int64(moved), common)
}

// A result is what the attributes of an operation's duration depend on.
type result struct {
	operation
	addr, code, failure string
}

func (o *Observer) record(r result) []metric.RecordOption {
	attrs := o.common.ToSlice()
	if name := r.name(); name != "" {
		attrs = append(attrs, semconv.DBOperationName(name))
	}
	if r.addr != "" {
		attrs = append(attrs, serverAttrs(r.addr)...)
	}
	if r.code != "" && r.code != otherCode {
		attrs = append(attrs, semconv.DBResponseStatusCode(r.code))
	}
	if r.failure != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(r.failure))
	}
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
}
