package engine

import (
	"context"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

// A tracer tells a program's trace of requests and of their groups. A panic in the trace is logged.
type tracer struct {
	trace *redislanes.Trace    // may be nil
	asked bool                 // for requests, or for their groups; else none is timed
	now   func() time.Duration // what their times are taken from
	log   *guard.Log
}

func newTracer(t *redislanes.Trace, log *guard.Log) tracer {
	asked := t != nil && (t.BeginRequest != nil || t.EndRequest != nil || t.BeginGroup != nil || t.EndGroup != nil)
	return tracer{trace: t, asked: asked, now: wire.Now, log: log}
}

// begin calls a function of the trace, which may be nil, that begins something. It
// returns the context that what follows is given.
func begin[S any](t *tracer, name string, f func(context.Context, S) context.Context, ctx context.Context, s S) context.Context {
	if f == nil {
		return ctx
	}
	next := ctx
	t.log.Call(name, func() { next = f(ctx, s) })
	if next == nil {
		return ctx
	}
	return next
}

// end calls a function of the trace, which may be nil, that ends something.
func end[S, I any](t *tracer, name string, f func(context.Context, S, I), ctx context.Context, s S, info I) {
	if f != nil {
		t.log.Call(name, func() { f(ctx, s, info) })
	}
}

// CallUser calls a function of the program. A panic in it is logged.
func (c *Client) CallUser(name string, f func()) { c.log.Call(name, f) }

// tellPool tells the trace that a pool is opened, or that it is closed. It returns what the trace knows the
// pool by, nil without a trace.
func (c *Client) tellPool(info *redislanes.PoolInfo, opened bool) *redislanes.PoolInfo {
	t := c.cfg.Trace
	if t == nil {
		return nil
	}
	name, f := "Trace.PoolClosed", t.PoolClosed
	if opened {
		info.Kind = c.cfg.Pool.WithDefaults(false).Kind
		name, f = "Trace.PoolOpened", t.PoolOpened
	}
	if f != nil {
		c.log.Call(name, func() { f(info) })
	}
	return info
}
