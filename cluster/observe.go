package cluster

import (
	"time"

	"github.com/redislanes/redislanes/internal/engine"
)

// An Observer is told how long things take; metrics.Observer is one, with
// histograms for Prometheus. Its methods are called from many goroutines, without
// a lock held; they must be quick and must not block. A panic in them is logged.
type Observer interface {
	// Pool is called before a pool to a node is made. What it returns is told of
	// that pool, so that labels need to be looked up only here; nil: nobody is.
	Pool(p PoolInfo) PoolObserver

	// Request is called at the end of each request, by the goroutine that made
	// it: one pipeline, one flight of pipeline.Counters, or one round of commands
	// of a radix action. Actions that are lent a connection are not among them: a
	// blocking command takes as long as it likes.
	Request(r RequestInfo)
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
	// of the reasons of pool.Stats.Closes, such as pool.CloseIdle, and the error behind
	// it. So the connections are the calls of Dialed without an error, less those of
	// Closed. A connection that ends as soon as it is there may have its Closed first.
	Closed(reason string, open time.Duration, err error)
}

// PoolInfo says which pool it is.
type PoolInfo struct {
	Addr string // of the node, host:port
	Role string // what the connections are for: "primary" or "replica"
	Kind string // "fixed", "adaptive" or "laned"
}

// RequestInfo is what became of a request.
type RequestInfo struct {
	Took     time.Duration // from the call to its end: waits, redirects and retries included
	Commands int
	Failed   int // commands without a reply, or whose reply is an error
	Trips    int // groups of commands that were sent, redirects and retries included
	Outcome  Outcome
}

// Outcome is what became of a request: that of the command that fared worst.
type Outcome uint8

// From best to worst.
const (
	OutcomeOK      = Outcome(engine.OutcomeOK)      // every command has a reply that is no error
	OutcomeError   = Outcome(engine.OutcomeError)   // the server replied with an error
	OutcomeNotSent = Outcome(engine.OutcomeNotSent) // redislanes.ErrNotSent
	OutcomeUnknown = Outcome(engine.OutcomeUnknown) // redislanes.ErrUnknownOutcome

	// Outcomes is how many outcomes there are.
	Outcomes = engine.Outcomes
)

// String returns "ok", "error", "not_sent" or "unknown".
func (o Outcome) String() string { return engine.Outcome(o).String() }

// observer is an Observer as the engine calls it.
type observer struct{ Observer }

func (o observer) Pool(p engine.PoolInfo) engine.PoolObserver {
	if of := o.Observer.Pool(PoolInfo(p)); of != nil {
		return of
	}
	return nil
}

func (o observer) Request(r engine.RequestInfo) {
	o.Observer.Request(RequestInfo{Took: r.Took, Commands: r.Commands, Failed: r.Failed, Trips: r.Trips, Outcome: Outcome(r.Outcome)})
}
