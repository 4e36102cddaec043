package limit

import (
	"context"
	"errors"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/engine"
)

// An Observer is called with decisions and with what becomes of hits. limitmetrics.New makes one
// for Prometheus. Many goroutines call it. It must be quick and must not block. If it panics, the
// client logs that, and the limiter goes on.
type Observer interface {
	// Decided is called at the end of each call of Allow, AllowAtMost and Reserve, by the
	// goroutine that made the call. It must not keep or change its arguments. Limiter.Close
	// does not wait for it.
	Decided(took time.Duration, requests []Request, result Result)

	// Hits is called by any goroutine with what became of n hits of the limit. n is the sum of
	// their costs. what is one of
	//
	//   - counted: counted, as far as is known
	//   - returned: given back, after a denied call, a settlement or by a lease
	//   - lost: could not be given back or counted by a settlement, or were leased without a reply
	//   - leased: reserved by a lease: a part of those that were counted
	//
	// Limiter.Close waits for it, so Hits must return soon and must not call Close.
	Hits(limit *Limit, what string, n int64)
}

// guarded calls an observer. If that panics, the client logs it.
type guarded struct {
	of     Observer
	client *engine.Client
}

func guard(of Observer, client *cluster.Client) Observer {
	if of == nil {
		return nil
	}
	return guarded{of, (*engine.Client)(client)}
}

func (g guarded) Decided(took time.Duration, requests []Request, result Result) {
	g.client.Log().Call("limit.Observer.Decided", func() { g.of.Decided(took, requests, result) })
}

func (g guarded) Hits(of *Limit, what string, n int64) {
	g.client.Log().Call("limit.Observer.Hits", func() { g.of.Hits(of, what, n) })
}

// What may become of hits in Redis, for Observer.Hits.
const (
	hitsCounted  = "counted"
	hitsReturned = "returned"
	hitsLost     = "lost"
	hitsLeased   = "leased"
)

func (l *Limiter) tell(of *Limit, what string, n int64) {
	if l.cfg.Observer != nil && n > 0 {
		l.cfg.Observer.Hits(of, what, n)
	}
}

// noteLeft notes whether Redis did not decide and the caller has left. Err does not say that: it may
// have passed on the error of another context, such as one of Dialer.Credentials.
func (d *Decision) noteLeft(ctx context.Context) {
	d.left = d.Err != nil && ctx != nil && errors.Is(ctx.Err(), context.Canceled)
}

// Outcome returns what became of one request of a call, an element of Result.Each(), in one word for
// metrics:
//
//   - allowed: within its limit
//   - allowed_leased: within its limit, by a lease
//   - denied: over its limit
//   - denied_near: over its limit, by the near cache
//   - denied_by_other: within its limit, but another limit has denied the call
//   - not_asked: another limit of the call denied it before
//   - failed_open, failed_closed: allowed or denied without Redis
//   - canceled: its caller left before Redis had decided: the context was canceled
//   - mistaken: the request cannot be used
//
// A Result has the outcome of the request that its figures are of. It is allowed if all limits of the
// call are shadow limits.
func (d Decision) Outcome() string {
	switch {
	case d.mistake:
		return "mistaken"
	case d.left:
		return "canceled"
	case d.Err != nil && d.Allowed:
		return "failed_open"
	case d.Err != nil:
		return "failed_closed"
	case d.Near:
		return "denied_near"
	case d.Allowed && d.other:
		return "denied_by_other"
	case d.Allowed && d.Leased:
		return "allowed_leased"
	case d.Allowed:
		return "allowed"
	case d.RetryAfter > 0:
		return "denied"
	}
	return "not_asked"
}
