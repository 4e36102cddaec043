package engine

import (
	"context"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/nodepool"
)

// An Observer is that of package cluster, and so are the types below.
type Observer interface {
	Pool(p PoolInfo) PoolObserver
	Request(r RequestInfo)
}

// A ContextObserver is told of requests with their contexts, in place of
// Observer.Request.
type ContextObserver interface {
	BeginRequest(ctx context.Context, s RequestStart) context.Context
	EndRequest(ctx context.Context, s RequestStart, r RequestInfo)
}

// A TopologyObserver is told of changes of the map of the slots.
type TopologyObserver interface {
	TopologyChanged(c TopologyChange)
}

// A PoolObserver is told of one pool.
type PoolObserver interface {
	Waited(wait time.Duration)
	Left()
}

// A ConnObserver is a PoolObserver that is told of connections, too.
type ConnObserver interface {
	PoolObserver
	Dialed(took time.Duration, err error)
	Closed(reason string, open time.Duration, err error)
}

// A DialObserver is told of dials, and how long their steps took.
type DialObserver interface {
	DialEnded(d nodepool.DialInfo)
}

// A GroupObserver is told of the groups of commands that the pool is given.
type GroupObserver interface {
	BeginGroup(ctx context.Context, s GroupStart) context.Context
	EndGroup(ctx context.Context, s GroupStart, g GroupInfo)
}

// PoolParts is what a PoolObserver is told besides; each may be nil.
type PoolParts struct {
	Conns  ConnObserver
	Dials  DialObserver
	Groups GroupObserver
}

// A PoolComposite is a PoolObserver that does not implement the others itself.
type PoolComposite interface {
	PoolObserver
	Parts() PoolParts
}

func partsOf(o PoolObserver) (p PoolParts) {
	if composite, ok := o.(PoolComposite); ok {
		return composite.Parts()
	}
	p.Conns, _ = o.(ConnObserver)
	p.Dials, _ = o.(DialObserver)
	p.Groups, _ = o.(GroupObserver)
	return p
}

// eventsOf returns what the observer is told by its pool.
func eventsOf(o PoolObserver) nodepool.Events {
	e := nodepool.Events{Waited: o.Waited}
	p := partsOf(o)
	if p.Conns != nil {
		e.Closed = p.Conns.Closed
	}
	if p.Conns != nil || p.Dials != nil {
		e.Dialed = func(d nodepool.DialInfo) {
			if p.Conns != nil {
				p.Conns.Dialed(d.Took, d.Err)
			}
			if p.Dials != nil {
				p.Dials.DialEnded(d)
			}
		}
	}
	if p.Groups != nil {
		e.Maker = &groupWatcher{p.Groups}
	}
	return e
}

// A groupWatcher is what a pool keeps for the engine. It is a pointer to a struct
// so that finding it again for each group is one comparison.
type groupWatcher struct{ GroupObserver }

// PoolInfo says which pool it is.
type PoolInfo struct {
	Addr string
	Role string
	Kind string
}

// A Namer names commands: that of all of them, or "" if they have several.
type Namer interface{ CommandName() string }

// RequestStart is what is known of a request before it is sent.
type RequestStart struct {
	Commands int
	Lent     bool
	Names    Namer
}

// RequestInfo is what became of a request.
type RequestInfo struct {
	Took      time.Duration
	Commands  int
	Failed    int
	Trips     int
	Outcome   Outcome
	Retries   int
	Redirects int
	Addr      string
	Code      string
	Err       error
}

// GroupStart is what is known of a group before it is sent.
type GroupStart struct {
	Commands   int
	Bytes      int
	Wave       int
	Groups     int
	Retried    int
	Redirected int
	Lent       bool
	Names      Namer
}

// GroupInfo is what became of a group.
type GroupInfo struct {
	Took    time.Duration
	Bytes   int
	Failed  int
	Outcome Outcome
	Code    string
	Err     error
}

// TopologyChange is how a map of the slots differs from the one before.
type TopologyChange struct {
	Joined, Left []string
	Moved        int
	Moves        []SlotsMoved
	Owned        int
}

// SlotsMoved is how many slots have gone from one node to another; "" is none.
type SlotsMoved struct {
	From, To string
	Slots    int
}

// Outcome is what became of a request: that of the command that fared worst.
type Outcome uint8

// From best to worst.
const (
	OutcomeOK Outcome = iota
	OutcomeError
	OutcomeNotSent
	OutcomeUnknown

	// Outcomes is how many outcomes there are.
	Outcomes = 4
)

// String returns "ok", "error", "not_sent" or "unknown".
func (o Outcome) String() string {
	switch o {
	case OutcomeOK:
		return "ok"
	case OutcomeError:
		return "error"
	case OutcomeNotSent:
		return "not_sent"
	}
	return "unknown"
}

// poolObserver asks who wants to know of the node's pool, nil if nobody does.
func (n *node) poolObserver(u use) PoolObserver {
	if n.client.cfg.Observer == nil {
		return nil
	}
	o, err := n.askObserver(u)
	n.client.journal.Panicked(err)
	return o
}

func (n *node) askObserver(u use) (o PoolObserver, err error) {
	defer guard.Catch("Observer.Pool", &err)
	cfg := &n.client.cfg
	return cfg.Observer.Pool(PoolInfo{Addr: n.addr, Role: u.String(), Kind: nodepool.Kind(cfg.Pool)}), nil
}

// left tells the observers of the node's pools that it has left the cluster.
func (n *node) left() {
	n.mu.Lock()
	observers := n.observers
	n.observers = [2]PoolObserver{}
	n.mu.Unlock()
	for _, o := range observers {
		n.tellLeft(o)
	}
}

// tellLeft tells o, which may be nil, that its pool is closed.
func (n *node) tellLeft(o PoolObserver) {
	if o == nil {
		return
	}
	err := func() (err error) {
		defer guard.Catch("PoolObserver.Left", &err)
		o.Left()
		return nil
	}()
	n.client.journal.Panicked(err)
}
