package redislanes

import (
	"context"
	"errors"
	"time"
)

// A Trace is functions that a client calls when something happens; each may be nil. Give
// it to a client as cluster.Config.Trace. metrics.New makes one for Prometheus.
//
// The functions are called from many goroutines, without a lock held. They must be quick
// and must not block. A panic in one is logged, and costs that call only. A panic in Stats
// fails New. Without a Trace, no request is timed. The Trace must not be changed while a client uses it.
type Trace struct {
	// BeginRequest is called before a request is sent, by the goroutine that makes it. A
	// request is one pipeline, one batch of pipeline.Counters, one round of commands of a
	// radix action, or one action that has a connection to itself (see RequestStart.Dedicated).
	// The functions below are given the context that it returns; nil stands for ctx. It
	// does not change the request, which ends with the context of the call.
	BeginRequest func(ctx context.Context, s RequestStart) context.Context

	// EndRequest is called once at the end of each request.
	EndRequest func(ctx context.Context, s RequestStart, r RequestInfo)

	// BeginGroup is called before a group is sent: commands of one request that travel
	// together to one node. EndGroup is given the context that it returns; nil stands for
	// ctx. Only requests over shared connections have groups: no dedicated ones, and none to a node of
	// Client.Clients or ForEachPrimary.
	BeginGroup func(ctx context.Context, s GroupStart) context.Context

	// EndGroup is called once for each group, before its request ends. The goroutine that
	// makes the request calls it, so the group may have ended some time before.
	EndGroup func(ctx context.Context, s GroupStart, g GroupInfo)

	// PoolOpened is called before a pool to a node is made. The pointer is the same in all
	// that is told of the pool.
	PoolOpened func(p *PoolInfo)

	// PoolClosed is called when a pool is closed because its node has left the cluster, is no longer
	// the primary that Sentinels name, or has another pool. It is not called when the client is
	// closed: its last figures may still be wanted.
	PoolClosed func(p *PoolInfo)

	// Waited is called for each batch, and each user that wants a connection to itself,
	// that found no connection free. It is called when the wait ends, served or not.
	// took is the length of the wait.
	Waited func(p *PoolInfo, took time.Duration)

	// Dialed is called after each attempt of a pool to connect. It is not called for connections that
	// fetch the map or carry a subscription, nor for one that asks a silent server and is not kept.
	// took includes TLS, AUTH and what else a connection begins with. err is nil if it succeeded.
	Dialed func(p *PoolInfo, took time.Duration, err error)

	// ConnClosed is called once for each connection. The open connections are the calls of
	// Dialed without an error, less those of ConnClosed. A connection that ends at once may
	// have its ConnClosed first.
	// reason is a key of PoolStats.Closes, and err the error that ended it.
	ConnClosed func(p *PoolInfo, reason string, err error)

	// TopologyChanged is called once a map of the slots is in use that differs from the one
	// before, the first map included. A MOVED alone does not call it. A map that is
	// fetched after a MOVED does, if it differs. The next map is fetched when the function has returned.
	// joined and left are addresses of primaries and replicas, and moved is how many slots have another
	// owner than before.
	TopologyChanged func(joined, left []string, moved int)

	// Stats is called once, before Config.New returns, with Client.Stats. If it returns an
	// error, New fails. It may keep read, which may be called at any time, also after Close.
	Stats func(read func() Stats) error
}

// JoinTraces returns a Trace that calls the functions of all the given ones, in their
// order. Each context adds to the one before it. After a panic in one function, those
// behind it are not called. Nil traces are left out; without any, it returns nil.
func JoinTraces(traces ...*Trace) *Trace {
	var all *Trace
	for _, t := range traces {
		switch {
		case t == nil:
		case all == nil:
			all = t
		default:
			all = all.and(t)
		}
	}
	return all
}

func (t *Trace) and(o *Trace) *Trace {
	joined := &Trace{
		BeginRequest: bothBegin(t.BeginRequest, o.BeginRequest), EndRequest: both3(t.EndRequest, o.EndRequest),
		BeginGroup: bothBegin(t.BeginGroup, o.BeginGroup), EndGroup: both3(t.EndGroup, o.EndGroup),
		PoolOpened: both(t.PoolOpened, o.PoolOpened), PoolClosed: both(t.PoolClosed, o.PoolClosed), Waited: both2(t.Waited, o.Waited),
		Dialed: both3(t.Dialed, o.Dialed), ConnClosed: both3(t.ConnClosed, o.ConnClosed),
		TopologyChanged: both3(t.TopologyChanged, o.TopologyChanged), Stats: t.Stats,
	}
	switch {
	case t.Stats == nil:
		joined.Stats = o.Stats
	case o.Stats != nil:
		joined.Stats = func(read func() Stats) error { return errors.Join(t.Stats(read), o.Stats(read)) }
	}
	return joined
}

func both[E any](a, b func(E)) func(E) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(e E) { a(e); b(e) }
}

func both2[E, F any](a, b func(E, F)) func(E, F) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(e E, f F) { a(e, f); b(e, f) }
}

func both3[E, F, G any](a, b func(E, F, G)) func(E, F, G) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(e E, f F, g G) { a(e, f, g); b(e, f, g) }
}

func bothBegin[S any](a, b func(context.Context, S) context.Context) func(context.Context, S) context.Context {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(ctx context.Context, s S) context.Context {
		for _, f := range [...]func(context.Context, S) context.Context{a, b} {
			if next := f(ctx, s); next != nil {
				ctx = next
			}
		}
		return ctx
	}
}
