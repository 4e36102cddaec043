package limit

import (
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// leased has the lease of the request's key decide. It reports whether the lease had enough hits.
func (c *call) leased(l *Limiter, a *ask, d *Decision) (ok bool) {
	a.count.mu.Lock()
	defer a.count.mu.Unlock()
	ok, _ = a.count.lend(l, a, d, c.now)
	return ok
}

// lend takes the hits from the lease, if it has enough. refills reports whether a refill leaves now. The count is
// locked.
func (c *count) lend(l *Limiter, a *ask, d *Decision, now time.Time) (ok, refills bool) {
	if c.hash == 0 || c.number != c.limit.number(a.window) { // the memory has a bound; the window has ended
		return false, false
	}
	if c.limit.rule.Algorithm == TokenBucket { // the call may have begun before
		c.lease.Expire(time.Since(l.counts.epoch))
	}
	a.tokens, ok = c.lease.Take(a.cost)
	if n, wait := c.lease.Ask(a.cost, now.Sub(l.counts.epoch), c.offer(a.window, now)); n > 0 {
		refills = l.refill(c, a.window, n, wait)
	}
	if !ok {
		return false, refills
	}
	d.Allowed, d.Leased, d.counted, d.began = true, true, true, a.tokens.From
	d.Remaining, d.ResetAfter = c.free(&c.word, a.window, now), c.limit.reset(&c.word, a.window, now)
	return true, refills
}

// offer returns what a refill may take.
func (c *count) offer(w window.Window, now time.Time) lease.Offer {
	o := lease.Offer{Free: c.limit.room(&c.word, w, now), Lasts: w.Left()}
	if c.limit.rule.Algorithm == TokenBucket {
		o.Lasts, o.Per = min(c.limit.rule.refill(), mostWindow), c.limit.rule.perToken()
	}
	return o
}

// giveBack puts the hits of a denied call back into the lease. It reports false if their window has ended.
func (c *count) giveBack(a *ask) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ok = c.number == c.limit.number(a.window); ok {
		c.lease.Give(a.tokens)
	}
	return ok
}

// watch has a look at the lease after a while; 0: never. The count is locked.
func (l *Limiter) watch(c *count, after time.Duration) {
	if c.watched = after > 0; c.watched {
		time.AfterFunc(after, func() {
			if l.inside.Enter() { // else Close ends the lease
				defer l.inside.Leave()
				l.look(c)
			}
		})
	}
}

// look returns the hits that the lease does not need, and looks again later. The caller is inside.
func (l *Limiter) look(c *count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	again := lease.Tick // if the clock was set back
	if w := c.limit.windowAt(l.servers.at(now)); c.roll(w, now.Sub(l.counts.epoch)) {
		surplus, next := c.lease.Idle(now.Sub(l.counts.epoch))
		if again = next; len(surplus) > 0 {
			l.inside.Stay()
			go l.travel(c.returns(w, surplus), l.returned)
		}
	}
	l.watch(c, again)
}

// endLease ends the lease of a count, and returns what it gives back.
func (l *Limiter) endLease(c *count) (back []hit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if w := c.limit.windowAt(l.servers.at(now)); c.lease.Left() > 0 && c.roll(w, now.Sub(l.counts.epoch)) {
		back = c.returns(w, c.lease.Drop())
	}
	return back
}

// returns makes the hits that give back what a lease had.
func (c *count) returns(w window.Window, all []lease.Stretch) (back []hit) {
	for _, s := range all {
		back = append(back, hit{kind: kindReturn, count: c, window: w, cost: s.N, from: s.From, lease: true})
	}
	return back
}

// evicted ends the lease of a key that gives way to another one. The key's shard is locked.
func (l *Limiter) evicted(c *count) {
	if back := l.endLease(c); len(back) > 0 && l.inside.Enter() {
		go l.travel(back, l.returned)
	}
}

// endLeases ends all leases.
func (l *Limiter) endLeases() {
	var back []hit
	for _, c := range l.counts.all(func(*count) bool { return true }) {
		back = append(back, l.endLease(c)...)
	}
	l.background(back, l.returned)
}
