package limit

import (
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// A keyLease is the hits on a key that a limiter has reserved, in one window after the other. Only keys that
// are hit often have one. The lock of the count guards it.
type keyLease struct {
	lease.Lease
	line *lease.Line // of a token bucket
}

// leased has the lease of the request's key decide. It reports whether the lease had enough hits.
func (c *call) leased(l *Limiter, a *ask, d *Decision, refills *[]hit) bool {
	n := a.count
	n.mu.Lock()
	ok, refill := n.lend(l, a, d, c.now)
	n.mu.Unlock()
	if refill.cost > 0 {
		*refills = append(*refills, refill)
	}
	return ok
}

// lend takes the hits from the lease, if it has enough. refill, unless it is empty, is what the lease asks for.
// The count is locked.
func (c *count) lend(l *Limiter, a *ask, d *Decision, now time.Time) (ok bool, refill hit) {
	at := now.Sub(l.counts.epoch)
	if c.lease == nil {
		c.begin(l, at)
	}
	k := c.lease
	if k == nil || c.number != c.limit.number(a.window) {
		return false, refill
	}
	if k.line != nil { // the call may have begun before
		k.Lose(k.line.Expire(time.Since(l.counts.epoch)))
	}
	ok, n := k.Take(a.cost, at, c.offer(l, a.window, now))
	if n > 0 {
		refill = hit{kind: kindTake, count: c, window: a.window, cost: n, whole: true, lease: k, resets: c.resets}
		refill.wait = ok && k.Lasts(n) >= lastsLong
	}
	if !ok {
		return false, refill
	}
	a.tokens = k.line.Take(a.cost)
	d.Allowed, d.Leased, d.counted = true, true, true
	d.Remaining, d.ResetAfter = c.free(&c.word, a.window, now), c.limit.reset(&c.word, a.window, now)
	if k.line != nil {
		d.began = a.tokens.From
	}
	return true, refill
}

// begin gives the count a lease if its key is hit often enough. The count is locked.
func (c *count) begin(l *Limiter, at time.Duration) {
	calls, rate := c.rate.hit(at)
	if calls < lease.Fewest || c.hash == 0 || c.word.at.IsZero() {
		return
	}
	c.lease = &keyLease{}
	c.lease.Begin(rate, at)
	if c.limit.rule.Algorithm == TokenBucket {
		c.lease.line = lease.NewLine(c.limit.rule.perToken())
	}
	l.counts.noteLease(c)
	l.tend()
}

// offer returns what a refill may take. A process that is young may end soon, and its lease with it.
func (c *count) offer(l *Limiter, w window.Window, now time.Time) lease.Offer {
	o := lease.Offer{Free: c.limit.room(&c.word, w, now), Lasts: w.Left()}
	if o.Per = c.lease.line.Per(); o.Per > 0 {
		o.Lasts = min(c.limit.rule.refill(), mostWindow)
	}
	o.Lasts = min(o.Lasts, max(lease.Tick, now.Sub(l.counts.epoch)/4))
	return o
}

// giveBack puts the hits of a denied call back into the lease. It reports false if the lease has ended.
func (c *count) giveBack(a *ask) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease == nil || c.number != c.limit.number(a.window) {
		return false
	}
	c.lease.Give(a.cost)
	c.lease.line.Give(a.tokens)
	return true
}

func (s *counts) noteLease(c *count) {
	of := s.shard(c.hash)
	of.mu.Lock()
	defer of.mu.Unlock()
	if _, there := of.leased[c]; !there { // since before a Reset
		of.leased[c] = struct{}{}
		s.leases.Add(1)
	}
}

// tend has a goroutine look after the leases, until there are none: it returns hits that nobody uses, and
// sends refills that could wait. The caller is inside.
func (l *Limiter) tend() {
	if !l.tending.CompareAndSwap(false, true) {
		return
	}
	l.inside.Stay()
	go func() {
		defer l.inside.Leave()
		tick := time.NewTicker(lease.Tick)
		defer tick.Stop()
		for next := 0; l.counts.leases.Load() > 0; {
			select {
			case <-tick.C:
				next = l.lookAtLeases(next, false)
				l.sendUnsent()
			case <-l.closing:
				l.lookAtLeases(0, true)
				return
			}
		}
		l.tending.Store(false)
		if l.counts.leases.Load() > 0 { // one that was made meanwhile
			l.tend()
		}
	}()
}

// lookAtLeases returns the hits of leases that nobody uses. If there are many leases, it looks at those of some
// shards, and returns the shard to go on with. At the end all leases end.
func (l *Limiter) lookAtLeases(from int, end bool) (next int) {
	s, some := l.counts, nearShards
	if n := int(s.leases.Load()); n > seenAtOnce && !end {
		some = max(1, nearShards*seenAtOnce/n)
	}
	var back []hit
	now := time.Now()
	for i := range some {
		of := &s.shards[(from+i)%nearShards]
		of.mu.Lock()
		leased := make([]*count, 0, len(of.leased))
		for c := range of.leased {
			leased = append(leased, c)
		}
		of.mu.Unlock()
		for _, c := range leased {
			back = append(back, l.idle(c, now, end)...)
		}
	}
	l.background(back, l.returned)
	return (from + some) % nearShards
}

// idle returns what the lease of a count gives back.
func (l *Limiter) idle(c *count, now time.Time, end bool) (back []hit) {
	c.mu.Lock()
	w := c.limit.windowAt(l.servers.at(now))
	ok := c.roll(w, now.Sub(l.counts.epoch))
	k := c.lease
	if k != nil && ok {
		surplus, over := k.Idle(now.Sub(l.counts.epoch), k.line.Per())
		if end || over {
			surplus += k.Left()
			k.Lose(k.Left())
			c.lease = nil
		}
		back = c.returns(k, w, surplus)
	}
	if c.lease == nil {
		l.counts.dropLease(c)
	}
	c.mu.Unlock()
	return back
}

// returns makes the hits that give back what the lease does not need.
func (c *count) returns(k *keyLease, w window.Window, n int64) (back []hit) {
	if k.line == nil && n > 0 {
		return []hit{{kind: kindReturn, count: c, window: w, cost: n}}
	}
	for _, s := range k.line.Drop(n) {
		back = append(back, hit{kind: kindReturn, count: c, window: w, cost: s.N, from: s.From, lease: k})
	}
	return back
}

func (s *counts) dropLease(c *count) {
	of := s.shard(c.hash)
	of.mu.Lock()
	_, there := of.leased[c]
	delete(of.leased, c)
	of.mu.Unlock()
	if there {
		s.leases.Add(-1)
	}
}

// evicted ends the lease of a key that gives way to another one. The caller is inside.
func (l *Limiter) evicted(c *count) {
	l.inside.Stay()
	go func() {
		defer l.inside.Leave()
		l.background(l.idle(c, time.Now(), true), l.returned)
	}()
}
