package limit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A Reservation is an estimate of hits that was counted before their number is known. Settle or
// Cancel it once. If it is not settled, the estimate stays counted, even if the process ends.
// It is safe for concurrent use. The methods of a nil Reservation do nothing and return nil.
type Reservation struct {
	limiter *Limiter
	parts   []part
	settled atomic.Bool
}

// A part is a request of a reservation.
type part struct {
	limit   *Limit
	key     string
	counted int64     // hits
	unsure  bool      // they may not be counted
	idle    bool      // there is nothing to settle
	from    int64     // where their tokens begin, or the number of the window that they are counted in
	until   time.Time // when their tokens have flowed in
}

// Reserve decides about the requests as [Limiter.Allow] does, with the costs that are
// expected. The Reservation is nil if the call is denied. If it is allowed, settle the
// reservation with the real costs:
//
//	reservation, result := limiter.Reserve(ctx, limit.Request{Limit: tokens, Key: user, Cost: estimate})
//	if !result.Allowed {
//		return errLimited
//	}
//	defer reservation.Cancel(ctx) // does nothing after Settle
//	...
//	reservation.Settle(ctx, used)
//
// Do not set CountDenied on a rule for reservations: the near caches of other processes would
// deny a key that was over its limit until the window ends, even after hits were given back.
func (l *Limiter) Reserve(ctx context.Context, requests ...Request) (*Reservation, Result) {
	now := time.Now()
	return l.reserveAt(ctx, now, now, requests)
}

// reserveAt is Reserve in the windows of now.
func (l *Limiter) reserveAt(ctx context.Context, now, began time.Time, requests []Request) (*Reservation, Result) {
	if !l.made() {
		return nil, l.Allow(ctx, requests...)
	}
	result := l.allowAt(ctx, now, began, requests)
	if !result.Allowed {
		return nil, result
	}
	r := &Reservation{limiter: l, parts: make([]part, len(requests))}
	for i := range requests {
		r.parts[i] = partOf(&requests[i], &result.Each[i], now)
	}
	return r, result
}

func partOf(r *Request, d *Decision, now time.Time) part {
	p := part{limit: r.Limit, key: r.Key, from: d.from, until: now.Add(d.ResetAfter)}
	if d.Leased { // the tokens of a lease lie ahead of what the bucket has
		p.until = now.Add(r.Limit.rule.full())
	}
	switch {
	case r.Look, !d.Allowed && !r.charges(): // of a limit in the shadow: given back
		p.idle = true
	case d.Err == nil, d.counted: // the window before may be unknown
		p.counted = r.cost()
	case !didNotRun(d.Err):
		p.counted, p.unsure = r.cost(), true
	}
	return p
}

// ErrSettled is the error of Settle and Cancel for a Reservation that was settled or
// cancelled before. Nothing is changed.
var ErrSettled = errors.New("limit: the Reservation is settled already")

// Settle replaces the estimated costs by the actual ones, in the order of the requests. It
// counts the difference, even beyond the limit, or gives it back. It takes effect at most once,
// even if replies are lost. The cost of a request that only looks, or that only a shadow limit
// has denied, changes nothing. A cost counts as 1,000,000,000,000 at most.
//
// Settle waits for the budget, or until the context ends. The error is:
//   - nil if all is settled;
//   - [ErrSettled] if it was settled before;
//   - about the costs if their number is wrong or one is negative; nothing is changed then;
//   - redislanes.ErrClosed after [Limiter.Close]; the estimate stays counted;
//   - otherwise the reason why not all is settled yet. The limiter goes on in the background
//     until the window ends, or for 20 s if the outcome of a try is unknown.
//
// The hits are adjusted in the window in which they were reserved. Once it has ended:
//   - Hits that are missing are counted in the present window.
//   - Fixed windows get nothing back. Sliding windows do for one more window, in which the hits
//     still count.
//
// A bucket gets back as many tokens as it would have without the reservation. A bucket that
// owes tokens allows nothing until they have flowed in.
//
// Hits that Redis could not count when they were reserved are all counted now. Hits with an
// unknown outcome count as counted, and are not given back.
func (r *Reservation) Settle(ctx context.Context, actual ...int64) error {
	switch {
	case r == nil:
		return nil
	case ctx == nil:
		return errNilContext
	case len(actual) != len(r.parts):
		return fmt.Errorf("limit: Settle with %d costs: want %d, one for each request", len(actual), len(r.parts))
	}
	for i, cost := range actual {
		if cost < 0 {
			return fmt.Errorf("limit: Settle: cost %d = %d: must not be negative", i+1, cost)
		}
	}
	if !r.settled.CompareAndSwap(false, true) {
		return ErrSettled
	}
	return r.limiter.settleAt(ctx, time.Now(), r.parts, actual)
}

// Cancel is Settle with costs of 0: the hits are given back.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r == nil {
		return nil
	}
	return r.Settle(ctx, make([]int64, len(r.parts))...)
}

// GiveBack takes the cost of each request off its count, such as the hits of work that was
// undone. It acts on the present window, which never falls below 0, and a bucket is never more
// than full. Give back no more hits than were used: the count includes those that leases have
// reserved. If the hits have a [Reservation], use that: it gives back only its own hits.
// GiveBack returns errors and is repeated as [Reservation.Settle].
func (l *Limiter) GiveBack(ctx context.Context, requests ...Request) error {
	switch {
	case !l.made():
		return errNotMade
	case ctx == nil:
		return errNilContext
	}
	now := time.Now()
	parts := make([]part, len(requests))
	for i := range requests {
		r := &requests[i]
		switch {
		case !r.Limit.made():
			return errNoLimit
		case r.Cost < 0:
			return r.badCost()
		}
		rule, from := &r.Limit.rule, int64(lastTokens)
		if rule.Algorithm != TokenBucket {
			from = l.windowAt(now, rule.Window).number
		}
		parts[i] = part{limit: r.Limit, key: r.Key, counted: min(r.cost(), mostLimit), from: from, until: now.Add(rule.full())}
	}
	return l.settleAt(ctx, now, parts, make([]int64, len(parts)))
}
