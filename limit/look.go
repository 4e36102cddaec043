package limit

import (
	"context"
	"slices"
)

// findLease finds the lease of a look's key, whose hits are free.
func (a *ask) findLease(l *Limiter) {
	if a.lease = l.leases.find(a.limit, a.place.key); a.lease != nil {
		a.noteLease()
	}
}

// askAgain asks again for what depends on a lease as well.
func (c *call) askAgain(ctx context.Context, l *Limiter) {
	c.lookAgain(ctx, l)
	c.drawAgain(ctx, l)
}

// lookAgain reads looks again during which the lease of their key was refilled, or returned hits.
func (c *call) lookAgain(ctx context.Context, l *Limiter) {
	for looks := 1; ; looks++ {
		var draws []*draw
		for i := range c.asks {
			if a := &c.asks[i]; a.asked && a.look && a.lease != nil && !c.takes(a.place) && !a.steady(ctx) {
				draws = a.appendLook(draws)
			}
		}
		if len(draws) == 0 || looks == mostLooks || ctx.Err() != nil {
			return
		}
		l.draw(ctx, draws)
	}
}

// takes reports whether the call takes tokens of the bucket. A look that is read again would miss them.
func (c *call) takes(bucket place) bool {
	return slices.ContainsFunc(c.asks, func(a ask) bool { return a.asked && a.draw != nil && !a.look && a.place == bucket })
}

func (a *ask) appendLook(draws []*draw) []*draw {
	for _, d := range []*draw{a.draw, a.reads[0], a.reads[1]} {
		if d != nil {
			draws = append(draws, d)
		}
	}
	return draws
}

// steady notes what the lease has, and reports whether it was not refilled and returned nothing while
// the look was read. Otherwise it is not known whether the look has seen that. Then steady waits until
// the refill or the returns have ended.
func (a *ask) steady(ctx context.Context) bool {
	before := a.fills + a.returned
	moving := a.noteLease()
	if moving == nil {
		return a.fills+a.returned == before
	}
	select {
	case <-moving:
		a.noteLease()
	case <-ctx.Done():
	}
	return false
}

// noteLease notes what the lease has. It returns what is closed when the refill or the returns have ended
// that are under way, or nil.
func (a *ask) noteLease() (moving <-chan struct{}) {
	k := a.lease
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.number != a.number() {
		a.left = 0 // of another window, whose refills do not matter
		return nil
	}
	a.left, a.fills, a.returned = k.Left(), k.Fills(), k.returned
	if k.refilled == nil {
		return k.settled
	}
	return k.refilled
}

// settle waits until the refill and the returns of the lease have ended that are under way.
func (k *keyLease) settle(ctx context.Context) {
	k.mu.Lock()
	refilled, settled := k.refilled, k.settled
	k.mu.Unlock()
	for _, ended := range []chan struct{}{refilled, settled} {
		if ended == nil {
			continue
		}
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
}
