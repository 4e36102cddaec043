package engine

import (
	"context"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
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

// tellOpened returns what the trace knows a new pool by, nil without one.
func (n *node) tellOpened(u use) *redislanes.PoolInfo {
	cfg := &n.client.cfg
	if cfg.Trace == nil {
		return nil
	}
	info := &redislanes.PoolInfo{Addr: n.addr, Role: u.String(), Kind: cfg.Pool.WithDefaults(false).Kind}
	if f := cfg.Trace.PoolOpened; f != nil {
		n.client.log.Call("Trace.PoolOpened", func() { f(info) })
	}
	return info
}

// tellClosed tells that the pool is closed; info may be nil.
func (n *node) tellClosed(info *redislanes.PoolInfo) {
	if info == nil {
		return
	}
	if f := n.client.cfg.Trace.PoolClosed; f != nil {
		n.client.log.Call("Trace.PoolClosed", func() { f(info) })
	}
}

// left tells that the node has left the cluster: its pools are closed.
func (n *node) left() {
	n.mu.Lock()
	infos := n.infos
	n.infos = [2]*redislanes.PoolInfo{}
	n.mu.Unlock()
	for _, info := range infos {
		n.tellClosed(info)
	}
}

// tellTopology tells the trace how the map in use differs from the one that it
// was told of last.
func (r *refresher) tellTopology() {
	if r.client.cfg.Trace == nil || r.client.cfg.Trace.TopologyChanged == nil {
		return
	}
	after := r.client.topology.Load()
	change := slots.Diff(r.shown, after)
	r.shown = after
	if change.Moved == 0 && len(change.Joined)+len(change.Left) == 0 {
		return
	}
	r.client.log.Call("Trace.TopologyChanged", func() { r.client.cfg.Trace.TopologyChanged(change) })
}
