package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redislanes/redislanes/limit/internal/bucket"
)

// A Reservation is an estimate of hits that was counted before their number is known. Settle or
// Cancel it once. If it is not settled, the estimate stays counted, even if the process ends.
// It is safe for concurrent use. The methods of a nil Reservation do nothing and return nil.
type Reservation struct {
	limiter *Limiter
	parts   []part

	mu    sync.Mutex
	costs []int64 // of the first Settle; nil before it
	owed  []*owed // what is not settled yet
}

// A part is a request of a reservation.
type part struct {
	limit   *Limit
	key     string
	counted int64        // hits
	unsure  bool         // they may not be counted
	idle    bool         // there is nothing to settle
	from    int64        // the number of the window that they are counted in
	began   bucket.Start // where their tokens begin
	last    bool         // they are the tokens taken last, wherever those begin
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
	now := time.Now()
	return l.reserveAt(ctx, now, now, requests)
}

// reserveAt is Reserve in the windows of now.
func (l *Limiter) reserveAt(ctx context.Context, now, began time.Time, requests []Request) (*Reservation, Result) {
	requests = slices.Clone(requests)
	for i := range requests {
		requests[i].reserved = true
	}
	result := l.allowAt(ctx, now, began, requests)
	if !result.Allowed {
		return nil, result
	}
	r := &Reservation{limiter: l, parts: make([]part, len(requests))}
	each := result.Each()
	for i := range requests {
		r.parts[i] = l.partOf(&requests[i], &each[i])
	}
	return r, result
}

func (l *Limiter) partOf(r *Request, d *Decision) part {
	p := part{limit: l.limitOf(r, new(Decision)), key: r.Key, from: d.from, began: d.began}
	switch {
	case r.Look, !d.Allowed && r.kind() != kindCharge, d.Err == nil && !d.counted: // of a limit in the shadow: not counted
		p.idle = true
	case d.Err == nil, d.counted:
		p.counted = r.cost()
	case !didNotRun(d.Err):
		p.counted, p.unsure = r.cost(), true
	}
	return p
}

// ErrSettled is the error of Settle and Cancel for a Reservation that is settled, or that Settle was called
// for with other costs. Nothing is changed.
var ErrSettled = errors.New("limit: the Reservation is settled already, or with other costs")

// Settle replaces the estimated costs by the actual ones, in the order of the requests. It
// counts the difference, even beyond the limit, or gives it back. It takes effect at most once,
// even if replies are lost. The cost of a request that only looks, or that only a shadow limit
// has denied, changes nothing. A cost counts as 1,000,000,000,000 at most.
//
// Settle tries until all is settled, the context ends, or the budget is over (10 s at most). The error is:
//   - nil if all is settled;
//   - [ErrSettled] if it was settled before;
//   - about the costs if their number is wrong or one is negative; nothing is changed then;
//   - redislanes.ErrClosed after [Limiter.Close];
//   - otherwise how many costs are not settled, and why. Settle may be called again with the same costs: those
//     that are settled are left out. If the outcome of a try is unknown, this is possible for 20 s. The error
//     says which costs cannot be settled any more. Their estimates stay counted.
//
// The hits are adjusted in the window in which they were reserved. Once it has ended, hits that are missing
// are counted in the present window. Fixed windows get nothing back. Sliding windows do for one more window.
// A bucket gets back as many tokens as are still missing because of the reservation, or fewer if others
// gave tokens back meanwhile. A bucket that owes tokens allows nothing until they have flowed in.
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
	return r.settleAt(ctx, time.Now(), actual)
}

// settleAt is Settle in the windows of now.
func (r *Reservation) settleAt(ctx context.Context, now time.Time, actual []int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.costs == nil {
		r.costs = slices.Clone(actual)
		for i := range r.parts {
			r.owed = append(r.owed, &owed{part: &r.parts[i], actual: min(actual[i], mostLimit)})
		}
	} else if len(r.owed) == 0 || !slices.Equal(actual, r.costs) {
		return ErrSettled
	}
	left, err := r.limiter.settle(ctx, now, r.owed)
	r.owed = left
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
	switch {
	case !l.made():
		return errNotMade
	case ctx == nil:
		return errNilContext
	}
	now := time.Now()
	all := make([]*owed, len(requests))
	for i := range requests {
		r, d := &requests[i], Decision{}
		of := l.limitOf(r, &d)
		switch {
		case of == nil:
			return d.Err
		case r.Cost < 0:
			return r.badCost(of)
		}
		number := of.number(of.windowAt(l.servers.at(now)))
		all[i] = &owed{part: &part{limit: of, key: r.Key, counted: min(r.cost(), mostLimit), from: number, last: true}}
	}
	_, err := l.settle(ctx, now, all)
	return err
}
