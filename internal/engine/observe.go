package engine

import (
	"errors"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
)

// An Observer is that of package cluster, and so are the types below.
type Observer interface {
	Pool(p PoolInfo) PoolObserver
	Request(r RequestInfo)
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

// eventsOf returns what the observer is told by its pool.
func eventsOf(o PoolObserver) nodepool.Events {
	e := nodepool.Events{Waited: o.Waited}
	if conns, ok := o.(ConnObserver); ok {
		e.Dialed, e.Closed = conns.Dialed, conns.Closed
	}
	return e
}

// PoolInfo says which pool it is.
type PoolInfo struct {
	Addr string
	Role string
	Kind string
}

// RequestInfo is what became of a request.
type RequestInfo struct {
	Took     time.Duration
	Commands int
	Failed   int
	Trips    int
	Outcome  Outcome
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

// observe tells the observer of a request that has ended.
func (c *Client) observe(r *Request, took time.Duration) {
	info := RequestInfo{Took: took, Commands: r.Len(), Trips: r.Trips()}
	if !r.clean {
		for i := range r.bounds {
			if o := r.outcomeOf(i); o != OutcomeOK {
				info.Failed++
				info.Outcome = max(info.Outcome, o)
			}
		}
	}
	if err := c.tell(info); err != nil {
		guard.Log(c.cfg.Logger, err)
	}
}

func (c *Client) tell(info RequestInfo) (err error) {
	defer guard.Catch("Observer.Request", &err)
	c.cfg.Observer.Request(info)
	return nil
}

func (r *Request) outcomeOf(i int) Outcome {
	reply, _, err := r.outcome(i)
	switch {
	case err == nil && !resp.IsError(reply):
		return OutcomeOK
	case err == nil:
		return OutcomeError
	case errors.Is(err, redislanes.ErrNotSent):
		return OutcomeNotSent
	}
	return OutcomeUnknown
}

// poolObserver asks who wants to know of the node's pool, nil if nobody does.
func (n *node) poolObserver(u use) PoolObserver {
	if n.client.cfg.Observer == nil {
		return nil
	}
	o, err := n.askObserver(u)
	guard.Log(n.client.cfg.Logger, err)
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
	guard.Log(n.client.cfg.Logger, err)
}
