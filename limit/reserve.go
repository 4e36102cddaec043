package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/limit/internal/bucket"
)

// A Reservation is an estimate of hits that was counted before their number is known. Settle or
// Cancel it once. If it is not settled, the estimate stays counted, even if the process ends.
// It is safe for concurrent use. The methods of a nil Reservation do nothing and return nil.
type Reservation struct {
	limiter *Limiter

	mu    sync.Mutex
	parts []part
	costs []int64 // of the first Settle; nil before it
	open  []*part // that Settle may be called again for
}

// Reserve decides about the requests as [Limiter.Allow] does, with the costs that are
// expected. The Reservation is nil if the call is denied. If it is allowed, settle the
// reservation with the real costs:
//
//	reservation, result := limiter.Reserve(ctx, limit.Request{Limit: tokens, Key: user, Cost: estimate})
//	if !result.Allowed {
//		return errLimited
//	}
//	defer reservation.Cancel(context.WithoutCancel(ctx)) // does nothing after Settle
//	...
//	reservation.Settle(ctx, used)
//
// Tokens of a bucket are not reserved from leases. If other calls on the key have leases, only tokens that
// were reserved after the last refill of a lease are given back: use [Rule.NoLease] for such buckets.
func (l *Limiter) Reserve(ctx context.Context, requests ...Request) (*Reservation, Result) {
	var result Result
	r, now := &Reservation{limiter: l, parts: make([]part, len(requests))}, time.Now()
	if l.allowAt(ctx, now, now, requests, r.parts, &result); !result.Allowed {
		return nil, result
	}
	return r, result
}

// reserve fills in the parts of the call's Reservation.
func (c *call) reserve() {
	for i := range c.parts {
		a, d := &c.asks[i], &c.each[i]
		if a.kind == kindLook || !d.Allowed && a.kind != kindCharge || d.Err == nil && !a.counted { // of a limit in the shadow: not counted
			continue
		}
		p := &c.parts[i]
		*p = part{limit: a.limit, key: a.key, unsure: !a.counted, from: a.limit.number(a.window), began: a.began, back: bucket.Return}
		if a.counted || cause.MayHaveRun(d.Err) {
			p.counted = a.cost
		}
	}
}

// ErrSettled is the error of Settle and Cancel for a Reservation that is settled, or that Settle was called
// for with other costs. Nothing is changed.
var ErrSettled = errors.New("limit: the Reservation is settled already, or with other costs")

// Settle replaces the estimated costs by the actual ones, in the order of the requests. It
// counts the difference, even beyond the limit, or gives it back. It takes effect at most once,
// even if replies are lost. A cost counts as 1,000,000,000,000 at most.
//
// Hits are given back to the window in which they were reserved, and counted in the present one. A bucket
// gets back as many tokens as are still missing because of the reservation, or fewer if others gave tokens
// back meanwhile. It may owe tokens, and then allows nothing until they have flowed in. Hits whose outcome
// was unknown are not given back. The cost of a request that only looks, or that only a shadow limit has
// denied, changes nothing.
//
// Settle tries until all is settled, the context ends, or the budget is over (10 s at most). After an error
// it may be called again with the same costs: it sends those that certainly had no effect. Costs with an
// unknown outcome are not sent again. The error says how many these are.
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
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.costs == nil {
		r.costs = slices.Clone(actual)
		for i := range r.parts {
			p := &r.parts[i]
			p.diff = min(actual[i], mostLimit) - p.counted
			if p.limit != nil && (p.diff > 0 || p.diff < 0 && !p.unsure) {
				r.open = append(r.open, p)
			}
		}
	} else if len(r.open) == 0 || !slices.Equal(actual, r.costs) {
		return ErrSettled
	}
	var err error
	r.open, err = r.limiter.settle(ctx, r.open)
	return err
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
// GiveBack tries as long as [Reservation.Settle]. Hits that the error is about stay counted.
func (l *Limiter) GiveBack(ctx context.Context, requests ...Request) error {
	if !l.made() {
		return errNotMade
	}
	all := &Reservation{limiter: l, parts: make([]part, len(requests))}
	for i := range requests {
		r := &requests[i]
		of, err := l.limitOf(r)
		if err != nil {
			return err
		}
		number := of.number(of.windowAt(l.servers.at(time.Now())))
		all.parts[i] = part{limit: of, key: r.Key, counted: min(r.cost(), mostLimit), from: number, back: bucket.Last}
	}
	return all.Cancel(ctx)
}
