package limit

import (
	"context"
	"errors"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/engine"
)

// An Observer is called with decisions and with what becomes of hits. limits.New makes one
// for Prometheus. Many goroutines call it. It must be quick and must not block. If it panics, the
// client logs that, and the limiter goes on.
type Observer interface {
	// Decided is called at the end of each call of Allow, AllowAtMost and Reserve, by the
	// goroutine that made the call. It must not keep or change its arguments. Limiter.Close
	// does not wait for it.
	Decided(took time.Duration, requests []Request, result Result)

	// Hits is called when n hits of the limit were counted, returned and so on, by any
	// goroutine. n is the sum of their costs. Limiter.Close waits for it, so Hits must return
	// soon and must not call Close.
	Hits(limit *Limit, what Hits, n int64)
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
	g.client.CallUser("limit.Observer.Decided", func() { g.of.Decided(took, requests, result) })
}

func (g guarded) Hits(of *Limit, what Hits, n int64) {
	g.client.CallUser("limit.Observer.Hits", func() { g.of.Hits(of, what, n) })
}

// Hits says what became of hits in Redis, for metrics.
type Hits uint8

// What may become of hits.
const (
	HitsCounted  Hits = iota // counted, as far as is known
	HitsReturned             // given back, after a denied call, a settlement or by a lease
	HitsLost                 // could not be given back or counted by a settlement, or were leased without a reply
	HitsLeased               // reserved by a lease: a part of those that were counted
	HitsUnused               // reserved by a lease, and not used in time

	// HitsKinds is how many values there are.
	HitsKinds = 5
)

// String returns "counted", "returned", "lost", "leased" or "unused".
func (h Hits) String() string {
	return [...]string{"counted", "returned", "lost", "leased", "unused"}[min(h, HitsUnused)]
}

func (l *Limiter) tell(of *Limit, what Hits, n int64) {
	if l.cfg.Observer != nil {
		l.cfg.Observer.Hits(of, what, n)
	}
}

// An Outcome is what became of a request, for metrics.
type Outcome uint8

// What may become of a request.
const (
	Allowed       Outcome = iota // within its limit
	Denied                       // over its limit
	DeniedNear                   // over its limit, by the near cache
	FailedOpen                   // allowed without Redis
	FailedClosed                 // denied without Redis
	NotAsked                     // another limit of the call denied it before
	Mistaken                     // the request cannot be used
	DeniedByOther                // within its limit, but another limit has denied the call
	AllowedLeased                // within its limit, by a lease
	Canceled                     // its caller left before Redis had decided: the context was canceled

	// Outcomes is how many outcomes there are.
	Outcomes = 10
)

// String returns "allowed", "denied", "denied_near", "failed_open",
// "failed_closed", "not_asked", "mistaken", "denied_by_other", "allowed_leased" or "canceled".
func (o Outcome) String() string {
	if o >= Outcomes {
		o = Mistaken
	}
	return [...]string{"allowed", "denied", "denied_near", "failed_open", "failed_closed", "not_asked", "mistaken", "denied_by_other", "allowed_leased", "canceled"}[o]
}

// noteLeft notes whether Redis did not decide and the caller has left. Err does not say that: it may
// have passed on the error of another context, such as one of Dialer.Credentials.
func (d *Decision) noteLeft(ctx context.Context) {
	d.left = d.Err != nil && ctx != nil && errors.Is(ctx.Err(), context.Canceled)
}

// Outcome returns what became of one request of a call, an element of Result.Each. A Result has
// the outcome of the request that its figures are of. It is Allowed if all limits of the call are
// shadow limits.
func (d Decision) Outcome() Outcome {
	switch {
	case d.mistake:
		return Mistaken
	case d.left:
		return Canceled
	case d.Err != nil && d.Allowed:
		return FailedOpen
	case d.Err != nil:
		return FailedClosed
	case d.Near:
		return DeniedNear
	case d.Allowed && d.other:
		return DeniedByOther
	case d.Allowed && d.Leased:
		return AllowedLeased
	case d.Allowed:
		return Allowed
	case d.RetryAfter > 0:
		return Denied
	}
	return NotAsked
}
