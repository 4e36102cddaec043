package limit

import "time"

// takePart takes up to as many hits as the request costs from the lease of its key. A look takes
// none. Decision.Remaining is then what is free.
func (l *Limiter) takePart(a *ask, r *Request, d *Decision) (part ask) {
	part = ask{limit: a.limit, place: a.place, window: a.window}
	if r.Look {
		a.findLease(l)
		return part
	}
	k := l.leases.find(a.limit, r.Key)
	if k == nil {
		return part
	}
	k.mu.Lock()
	unused := k.roll(a.number(), time.Since(l.leases.epoch))
	if k.number == a.number() && !k.over && k.Left() > 0 {
		part.lease, part.cost = k, min(r.Cost, k.Left())
		k.Again(part.cost)
		part.tokens = k.line.Take(part.cost)
		d.Remaining = min(k.Free(), a.limit.rule.burst())
	}
	k.mu.Unlock()
	l.tellSome(k.limit, HitsUnused, unused)
	return part
}

// putBack puts the part into the lease again. If that has ended, nobody uses the hits.
func (l *Limiter) putBack(part *ask) {
	if part.cost > 0 && !part.lease.giveBack(part, true) {
		l.tell(part.limit, HitsUnused, part.cost)
	}
}

// help allows a hit that Redis alone has no room for: the lease gives what is counted beyond the limit. That
// much has to be returned, as the call's or as the lease's.
func (a *ask) help(d *Decision) {
	k := a.lease
	if d.Allowed || k == nil || a.look || a.draw != nil {
		return
	}
	excess := a.now + a.window.share(a.before) - a.limit.rule.Limit
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.number == a.number() && !k.over && k.Again(excess) {
		a.excess, d.Allowed, d.Remaining, d.RetryAfter = excess, true, 0, 0
	}
}

// returnExcess returns the excess: to the lease if the call is denied, else to Redis.
func (a *ask) returnExcess(l *Limiter, denied bool) {
	k := a.lease
	k.mu.Lock()
	defer k.mu.Unlock()
	if denied && k.number == a.number() && !k.over {
		k.Give(a.excess)
		return
	}
	l.handBack([]owed{k.owedHits(l, a.window, a.excess)})
}
