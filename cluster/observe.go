package cluster

import (
	"context"
	"time"

	"github.com/redislanes/redislanes"
)

// An Observer is told what becomes of requests and how long things take; metrics.New
// makes one for Prometheus. Its methods are called from many goroutines, without a
// lock held; they must be quick and must not block. A panic in them is logged.
//
// An Observer is told more if it implements more: [ContextObserver],
// [TopologyObserver], [StatsObserver], and what its method Pool returns [ConnObserver],
// [DialObserver] and [GroupObserver]. [Observers] makes one Observer of several.
type Observer interface {
	// Pool is called before a pool to a node is made. What it returns is told of
	// that pool, so that labels need to be looked up only here; nil: nobody is.
	Pool(p PoolInfo) PoolObserver

	// Request is called at the end of each request, by the goroutine that made
	// it: one pipeline, one flight of pipeline.Counters, or one round of commands
	// of a radix action, to a node of [Client.ForEachPrimary] or Clients, too. Actions
	// that are lent a connection are not among them: a blocking command takes as long
	// as it likes. It is not called for a [ContextObserver].
	Request(r RequestInfo)
}

// A ContextObserver is an Observer that is told of the beginning of requests, too,
// and is given the context of the call, by the goroutine that makes it. Actions that
// are lent a connection, such as blocking commands and transactions, are among the
// requests: see RequestStart.Lent.
type ContextObserver interface {
	Observer

	// BeginRequest is called before the request is sent. EndRequest is given the
	// context that it returns, which may hold a span or anything else, and so are
	// the methods of a GroupObserver; nil stands for ctx. It does not change the
	// request, which ends with the context of the call.
	BeginRequest(ctx context.Context, s RequestStart) context.Context

	// EndRequest is called at the end of the request, in place of Request.
	EndRequest(ctx context.Context, s RequestStart, r RequestInfo)
}

// A TopologyObserver is an Observer that is told when the map of the slots changes.
type TopologyObserver interface {
	Observer

	// TopologyChanged is called once a map is in use that differs from the one
	// before, the first map included. What MOVED teaches is told with the map that is
	// fetched because of it. The next map is fetched when it has returned.
	TopologyChanged(c TopologyChange)
}

// A StatsObserver is an Observer that wants the client's statistics besides.
type StatsObserver interface {
	Observer

	// ReadStats is given Client.Stats, once, before Config.New returns, which fails
	// if there is an error. It must not keep the client from being closed: the
	// function may be called at any time after that.
	ReadStats(stats func() redislanes.Stats) error
}

// A PoolObserver is told of one pool.
type PoolObserver interface {
	// Waited is pool.Options.OnWait.
	Waited(wait time.Duration)

	// Left is called when the node has left the cluster and its pool is closed.
	// It is not called when the client is closed, whose last figures may still be
	// wanted.
	Left()
}

// A ConnObserver is a PoolObserver that is told of connections, too: what
// Observer.Pool returns may be one.
type ConnObserver interface {
	PoolObserver

	// Dialed is called after each attempt to connect, with how long that took, the
	// handshake included. The error is nil if there is a connection now.
	Dialed(took time.Duration, err error)

	// Closed is called once for each connection, after it was open so long, with one
	// of the reasons of redislanes.PoolStats.Closes, such as redislanes.CloseIdle, and the error behind
	// it. So the connections are the calls of Dialed without an error, less those of
	// Closed. A connection that ends as soon as it is there may have its Closed first.
	Closed(reason string, open time.Duration, err error)
}

// A DialObserver is a PoolObserver that is told how long each step of connecting
// took.
type DialObserver interface {
	PoolObserver

	// DialEnded is called after each attempt to connect, as ConnObserver.Dialed is.
	DialEnded(d DialInfo)
}

// A GroupObserver is a PoolObserver that is told of groups: commands of one request
// that travel together to the pool's node. It is called by the goroutine that makes
// the request, so a group may have ended some time before EndGroup says so. What is
// sent over a lent connection at once is a group, too, where the Observer is a
// [ContextObserver].
type GroupObserver interface {
	PoolObserver

	// BeginGroup is called before the group is sent, with the context of the request
	// as ContextObserver.BeginRequest returned it. EndGroup is given the context that it
	// returns; nil stands for ctx.
	BeginGroup(ctx context.Context, s GroupStart) context.Context

	// EndGroup is called once for each group that was begun, before the request ends.
	EndGroup(ctx context.Context, s GroupStart, g GroupInfo)
}
