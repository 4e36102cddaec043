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
	a.count.lend(l, a.window, c.now, a.cost, &a.tokens, d)
	a.counted, a.began = d.Leased, a.tokens.From
	return d.Leased
}

// lend allows the hits of a request if the lease has enough, and takes them. It reports whether a refill leaves now.
// The count is locked.
func (c *count) lend(l *Limiter, w window.Window, now time.Duration, cost int64, taken *lease.Stretch, d *Decision) (refills bool) {
	if c.hash == 0 || c.number != c.limit.number(w) { // the memory has a bound; the window has ended
		return false
	}
	if c.limit.rule.Algorithm == TokenBucket { // the call may have begun before
		c.lease.Expire(l.age(time.Now()))
	}
	d.Leased = c.lease.Take(cost, taken)
	o := c.offer(w, now)
	if n, wait := c.lease.Ask(cost, now, o); n > 0 {
		refills = l.refill(c, w, n, wait)
	}
	if d.Leased {
		d.Allowed, d.Remaining, d.ResetAfter = true, c.free(o.Free), c.limit.reset(&c.word, w, now)
	}
	return refills
}

// offer returns what a refill may take.
func (c *count) offer(w window.Window, now time.Duration) lease.Offer {
	o := lease.Offer{Free: c.limit.room(&c.word, w, now), Lasts: w.Left()}
	if c.limit.rule.Algorithm == TokenBucket {
		o.Lasts, o.Per = c.limit.refill, c.limit.bucket.Per
	}
	return o
}

// watch has a look at the lease after a while; 0: never. The count is locked.
func (l *Limiter) watch(c *count, after time.Duration) {
	if c.watched = after > 0; c.watched {
		// Timers that end together cost less.
		after += lease.Tick - (l.age(time.Now())+after)%lease.Tick
		time.AfterFunc(after, func() {
			if l.inside.Enter() { // else Close ends the lease
				l.carry(l.look(c, false), l.returned)
			}
		})
	}
}

// look returns what the lease gives back: what it does not need, or all hits if it ends. Unless it ends, it is looked at
// again.
func (l *Limiter) look(c *count, end bool) (back []hit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end && c.lease.Left() == 0 {
		return nil
	}
	now := time.Now()
	again := lease.Tick // if the clock was set back
	at := l.age(now)
	if w := c.limit.windowAt(l.servers.at(now)); c.roll(w, at) {
		var surplus []lease.Stretch
		surplus, again = c.lease.Idle(at, end)
		for _, s := range surplus {
			back = append(back, hit{kind: kindReturn, count: c, window: w, cost: s.N, from: s.From, lease: true})
		}
	}
	if !end {
		l.watch(c, again)
	}
	return back
}

// evicted ends the lease of a key that gives way to another one. The key's shard is locked.
func (l *Limiter) evicted(c *count) {
	if back := l.look(c, true); len(back) > 0 && l.inside.Enter() {
		go l.carry(back, l.returned)
	}
}

// endLeases ends all leases.
func (l *Limiter) endLeases() {
	var back []hit
	for _, c := range l.counts.all(func(*count) bool { return true }) {
		back = append(back, l.look(c, true)...)
	}
	l.background(back, l.returned)
}
