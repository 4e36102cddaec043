package limit

import (
	"errors"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/pipeline"
)

// A call is one call of Allow on its way. It is used again for the next one.
type call struct {
	asks   []ask
	hits   []pipeline.Hit
	draws  []*draw // of token buckets
	each   []Decision
	denied bool // by a limit that is not in the shadow
	began  time.Time
}

// An ask is a request, and where its hits are.
type ask struct {
	limit   *Limit
	cost    int64
	window  window
	asked   bool // Redis is
	key     string
	user    string       // the key that the user gave
	local   *localBucket // that tokens were taken from
	hit     int          // its first one in hits; a sliding window's second one is of the window before
	counted bool         // the first one was, as far as is known
	now     int64        // hits in the window, with this one
	before  int64        // hits in the window before
	draw    *draw        // of a token bucket, which has no hits
}

// number returns the number of the window in the key; a bucket has one key for
// ever.
func (a *ask) number() int64 {
	if a.limit.rule.Algorithm == TokenBucket {
		return 0
	}
	return a.window.number
}

// begin prepares the hits. It reports whether there are any: not if the call is
// decided already.
func (c *call) begin(l *Limiter, requests []Request, now time.Time) bool {
	c.asks, c.hits, c.draws, c.denied, c.began = c.asks[:0], c.hits[:0], c.draws[:0], false, time.Now()
	for i, r := range requests {
		d := &c.each[i]
		if r.Limit == nil || r.Cost < 0 {
			d.Err = errNoLimit
			if r.Limit != nil {
				d.Err, d.Limit = errBadCost, r.Limit.rule.Limit
			}
			d.mistake, c.denied = true, true // it must be seen
			c.asks = append(c.asks, ask{})
			continue
		}
		rule := &r.Limit.rule
		a := ask{limit: r.Limit, user: r.Key, cost: max(r.Cost, 1), window: windowAt(now, rule.Window)}
		d.Limit = rule.Limit
		if a.key = r.Limit.key(l.cfg.Prefix, r.Key, a.number()); a.cost > rule.burst() {
			d.RetryAfter = Never
		}
		if d.RetryAfter == Never || l.near.denies(a.key, rule, a.cost, now, d) {
			c.denied = c.denied || !rule.Shadow
		}
		c.asks = append(c.asks, a)
	}
	if c.denied {
		return false
	}
	for i := range c.asks {
		switch a := &c.asks[i]; {
		case c.each[i].RetryAfter != 0:
		case a.limit.rule.Algorithm == TokenBucket:
			c.addDraw(l, a)
		default:
			c.addHits(&l.cfg, a)
		}
	}
	return len(c.hits)+len(c.draws) > 0
}

func (c *call) addDraw(l *Limiter, a *ask) {
	d := newDraw(a.key, &a.limit.rule, a.cost, l.now(), 0)
	a.asked, a.draw = true, &d
	c.draws = append(c.draws, &d)
}

// refuse denies all requests because of a mistake.
func (c *call) refuse(err error) {
	c.asks, c.hits, c.draws, c.denied = c.asks[:0], c.hits[:0], c.draws[:0], true
	for i := range c.each {
		c.each[i].Err, c.each[i].mistake = err, true
		c.asks = append(c.asks, ask{})
	}
}

func (c *call) addHits(cfg *Config, a *ask) {
	windows := 1
	if a.limit.rule.Algorithm == SlidingWindow {
		windows = 2
	}
	a.asked, a.hit = true, len(c.hits)
	c.hits = append(c.hits, pipeline.Hit{Key: a.key, By: a.cost, TTL: a.window.ttl(windows, cfg.Budget)})
	if windows == 2 {
		// INCRBY 0 reads, and merges with the hits of others that read.
		c.hits = append(c.hits, pipeline.Hit{Key: a.limit.key(cfg.Prefix, a.user, a.window.number-1), TTL: a.window.ttl(1, cfg.Budget)})
	}
}

// decide draws the conclusions from the totals.
func (c *call) decide(l *Limiter) {
	now := time.Now()
	for i := range c.asks {
		a, d := &c.asks[i], &c.each[i]
		if !a.asked {
			continue
		}
		rule := &a.limit.rule
		if err := c.failure(a); err != nil {
			d.Err, d.Allowed = err, !rule.FailClosed
			if l.local != nil {
				a.local = l.local.take(rule, a.user, a.cost, now)
				d.Allowed = a.local != nil
			}
		} else {
			a.judge(d)
		}
		c.denied = c.denied || !d.Allowed && !rule.Shadow
	}
}

// failure returns why it is not known how many hits there are, and notes how many
// there are. A hit of which only the time to live could not be set was counted.
func (c *call) failure(a *ask) error {
	if a.draw != nil {
		a.counted = a.draw.err == nil && a.draw.allowed
		return a.draw.err
	}
	h := &c.hits[a.hit]
	if h.Err != nil && !errors.Is(h.Err, redislanes.ErrExpiry) {
		return h.Err
	}
	a.counted, a.now = true, h.Total
	if a.limit.rule.Algorithm != SlidingWindow {
		return nil
	}
	h = &c.hits[a.hit+1]
	if h.Err != nil && !errors.Is(h.Err, redislanes.ErrExpiry) {
		return h.Err
	}
	a.before = h.Total
	return nil
}

// judge decides by the hits.
func (a *ask) judge(d *Decision) {
	if b := a.draw; b != nil {
		d.Allowed, d.Remaining, d.RetryAfter, d.ResetAfter = b.allowed, b.remaining, b.retryAt, b.resetAt
		return
	}
	w, limit := a.window, a.limit.rule.Limit
	d.ResetAfter = w.left()
	if a.limit.rule.Algorithm == SlidingWindow {
		d.ResetAfter += w.length
	}
	free := limit - a.now - w.share(a.before) // may not overflow: totals are far from the ends of int64, or Redis refuses them
	if d.Allowed = free >= 0; d.Allowed {
		d.Remaining = free
		return
	}
	if !a.limit.rule.CountDenied {
		free += a.cost // it is taken back
	}
	d.Remaining, d.RetryAfter = max(0, free), a.retryAfter(limit)
}

// retryAfter returns when the hits of others leave room for this one, which is
// denied.
func (a *ask) retryAfter(limit int64) time.Duration {
	w, others := a.window, a.now-a.cost
	if a.limit.rule.CountDenied {
		others = a.now
	}
	if a.limit.rule.Algorithm != SlidingWindow {
		return w.left()
	}
	if room := limit - others - a.cost; room >= 0 {
		return max(1, w.untilShareIs(a.before, room)-w.elapsed)
	}
	return w.left() + w.untilShareIs(others, limit-a.cost)
}

// remember notes the keys that are over their limits.
func (c *call) remember(l *Limiter) {
	now := time.Now()
	for i := range c.asks {
		a, d := &c.asks[i], &c.each[i]
		if !a.asked || d.Err != nil || d.Allowed {
			continue
		}
		most := l.cfg.Budget
		if a.limit.rule.CountDenied {
			most = Never
		}
		l.near.note(a.key, &a.limit.rule, a.cost, now, d, most)
	}
}

// owes reports whether hits have to be taken back, and prepares them: those of a
// call that was denied, and of shadow limits that would have denied theirs. What
// remains is as if they were taken back already.
func (c *call) owes(l *Limiter) bool {
	back := c.hits[:0]
	c.draws = c.draws[:0]
	for i := range c.asks {
		a := &c.asks[i]
		if a.local != nil && c.denied {
			l.local.give(a.local, &a.limit.rule, a.cost)
		}
		if !a.counted || a.limit.rule.CountDenied || !c.denied && c.each[i].Allowed {
			continue
		}
		if c.each[i].Allowed {
			c.each[i].Remaining += a.cost
		}
		if a.draw != nil {
			back := newDraw(a.draw.key, &a.limit.rule, -a.cost, l.now(), a.draw.at)
			c.draws = append(c.draws, &back)
			d := &c.each[i]
			d.ResetAfter = max(0, d.ResetAfter-time.Duration(float64(a.cost)*float64(a.limit.rule.Window)/float64(a.limit.rule.Limit)))
			continue
		}
		h := c.hits[a.hit] // in front of which there are as many or more
		back = append(back, pipeline.Hit{Key: h.Key, By: -a.cost, TTL: h.TTL})
	}
	c.hits = back
	return len(c.hits)+len(c.draws) > 0
}

// result chooses the decision that says most.
func (c *call) result() Result {
	r := Result{Each: c.each}
	var first error
	chosen := -1
	for i := range c.each {
		d := &c.each[i]
		switch a := &c.asks[i]; {
		case a.limit != nil && a.limit.rule.Shadow, c.denied && d.Allowed:
			continue
		case !a.asked && d.Err == nil && d.RetryAfter == 0: // the call was denied before
			continue
		}
		if d.Err != nil && first == nil {
			first = d.Err
		}
		if chosen < 0 || d.saysMore(&c.each[chosen]) {
			chosen = i
		}
	}
	if chosen >= 0 {
		r.Decision = c.each[chosen]
	}
	if r.Allowed = !c.denied; r.Allowed {
		r.Err = first
	}
	return r
}

// saysMore reports whether d says more about a call than e, of which both are
// parts: both are allowed, or neither is.
func (d *Decision) saysMore(e *Decision) bool {
	switch {
	case d.mistake || e.mistake:
		return d.mistake && !e.mistake
	case d.RetryAfter != e.RetryAfter:
		return d.RetryAfter > e.RetryAfter
	case (d.Err == nil) != (e.Err == nil):
		return d.Err == nil
	}
	return d.Remaining < e.Remaining
}

// fail decides without Redis.
func (c *call) fail(err error) {
	for i := range c.asks {
		if a, d := &c.asks[i], &c.each[i]; a.asked {
			d.Err, d.Allowed = err, !a.limit.rule.FailClosed
			c.denied = c.denied || !d.Allowed && !a.limit.rule.Shadow
		}
	}
}

// largeCall is how many requests a call is kept for.
const largeCall = 256

// end gives up what must not live on.
func (c *call) end() {
	if c.each = nil; cap(c.asks) > largeCall {
		c.asks, c.hits, c.draws = nil, nil, nil
	}
	clear(c.asks[:cap(c.asks)])
	clear(c.hits[:cap(c.hits)])
	clear(c.draws[:cap(c.draws)])
}
