package limit

import (
	"context"
	"time"
)

// takePart takes up to as many hits as the request costs from the lease of its key. Decision.Remaining is
// then what is free. The caller is inside.
func (l *Limiter) takePart(a *ask, r *Request, d *Decision) (part ask) {
	part = ask{limit: a.limit, place: a.place, window: a.window}
	k := l.leases.find(a.limit, r.Key)
	if k == nil {
		return part
	}
	k.mu.Lock()
	unused := k.roll(a.number(), time.Since(l.leases.epoch))
	if k.number == a.number() && !k.over && k.Left() > 0 {
		part.lease, part.excess = k, min(r.Cost, k.Left())
		k.Again(part.excess)
		part.tokens = k.line.Take(part.excess)
		d.Remaining = min(k.Free(), a.limit.rule.burst())
	}
	k.mu.Unlock()
	l.tellSome(k.limit, hitsUnused, unused)
	return part
}

// help allows a hit that Redis alone has no room for: the lease gives what is counted beyond the limit. Redis
// has now counted these hits twice, as the call's and as the lease's. One of the two is returned.
func (a *ask) help(l *Limiter, d *Decision) {
	if d.Allowed || a.look || a.draw != nil || !a.hasLease(l) {
		return
	}
	k := a.lease
	excess := a.used() - a.limit.rule.Quota
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.number != a.number() || k.over:
	case k.Again(excess):
		a.excess, d.Allowed, d.Remaining, d.RetryAfter = excess, true, 0, 0
	case k.refilled != nil || k.returning > 0 || k.returned != a.returned: // there may be room soon
		a.crowded, d.RetryAfter = true, min(d.RetryAfter, soon)
	}
}

// hasLease reports whether the key of a hit that Redis has denied has a lease. Until then a call
// does not look for the lease of a key that is hit rarely.
func (a *ask) hasLease(l *Limiter) bool {
	if a.lease == nil && !a.charge {
		a.findLease(l)
	}
	return a.lease != nil
}

// drawAgain asks a bucket again for hits that it and the lease of their key have together. If that
// fails, the call is denied.
func (c *call) drawAgain(ctx context.Context, l *Limiter) {
	for i := range c.asks {
		a := &c.asks[i]
		b := a.draw
		if b == nil || b.err != nil || b.allowed || a.look || a.charge || !a.hasLease(l) || !a.takeMissing(l, a.cost-b.remaining) {
			continue
		}
		if a.excess == a.cost { // the lease has all
			b.allowed, b.retryAt = true, 0
			continue
		}
		d := newDraw(a.place.String(), &a.limit.rule, a.cost-a.excess, l.now(), 0)
		l.draw(ctx, []*draw{&d})
		if d.err == nil {
			a.draw = &d
		} else { // the first reply decides, and the tokens stay taken if the second draw has run
			a.crowded, b.retryAt = true, min(b.retryAt, soon)
		}
		if !a.draw.allowed {
			a.returnExcess(l, true)
			a.excess = 0
		}
	}
}

// takeMissing takes so many tokens from the lease, or none if it has fewer. Redis has to have the others.
func (a *ask) takeMissing(l *Limiter, n int64) bool {
	if n <= 0 {
		return false
	}
	k := a.lease
	k.mu.Lock()
	unused := k.roll(a.number(), time.Since(l.leases.epoch))
	if k.number == a.number() && !k.over && k.Again(n) {
		a.excess, a.tokens = n, k.line.Take(n)
	}
	k.mu.Unlock()
	l.tellSome(k.limit, hitsUnused, unused)
	return a.excess > 0
}

// drawn returns how many hits Redis has counted for the ask.
func (a *ask) drawn() int64 {
	if a.draw == nil {
		return a.cost
	}
	return a.cost - a.excess
}

// returnExcess returns what the lease has given: to the lease if the call is denied, or to Redis if the
// lease has ended. Otherwise Redis gets back the hits of a window, which it has counted twice.
func (a *ask) returnExcess(l *Limiter, denied bool) {
	k := a.lease
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case denied && k.number == a.number() && !k.over:
		k.Give(a.excess)
		k.line.Give(a.tokens)
	case k.line == nil:
		l.handBack(k.appendOwed(nil, l, a.window, a.excess))
	case denied:
		l.handBack(k.appendReturn(nil, k.owedTokens(l, a.tokens)))
	}
}
