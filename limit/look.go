package limit

import "context"

// findLease finds the lease of a look's key, whose hits are free.
func (a *ask) findLease(l *Limiter) {
	if a.lease = l.leases.find(a.limit, a.place.key); a.lease != nil {
		a.noteLease()
	}
}

// mostLooks is how often a look is read at most, because of refills.
const mostLooks = 3

// lookAgain reads looks again during which the lease of their key was refilled.
func (c *call) lookAgain(ctx context.Context, l *Limiter) {
	for looks := 1; ; looks++ {
		var draws []*draw
		for i := range c.asks {
			if a := &c.asks[i]; a.asked && a.look && a.lease != nil && !a.steady(ctx) {
				draws = a.appendLook(draws)
			}
		}
		if len(draws) == 0 || looks == mostLooks || ctx.Err() != nil {
			return
		}
		l.draw(ctx, draws)
	}
}

func (a *ask) appendLook(draws []*draw) []*draw {
	for _, d := range []*draw{a.draw, a.reads[0], a.reads[1]} {
		if d != nil {
			draws = append(draws, d)
		}
	}
	return draws
}

// steady notes what the lease has, and reports whether it was not refilled while the look was
// read. If it was, it is not known whether the look has seen the refill's hits. Then steady waits
// until the refill has ended.
func (a *ask) steady(ctx context.Context) bool {
	before := a.fills
	refilled := a.noteLease()
	if refilled == nil {
		return a.fills == before
	}
	select {
	case <-refilled:
		a.noteLease()
	case <-ctx.Done():
	}
	return false
}

// noteLease notes what the lease has. It returns what is closed when the refill has ended that is under
// way, or nil.
func (a *ask) noteLease() (refilled <-chan struct{}) {
	k := a.lease
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.number != a.number() {
		a.left = 0 // of another window, whose refills do not matter
		return nil
	}
	a.left, a.fills = k.Left(), k.Fills()
	return k.refilled
}
