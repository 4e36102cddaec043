package limit

import "time"

// judge fills in the decision about hits by what the server has said. A request before the last one on a key is
// allowed if it fits without those behind it.
func (a *ask) judge(l *Limiter, c *call, d *Decision, h *hit) {
	of, at := a.limit, h.word.at
	room, most := of.room(&h.word, a.window, at), of.rule.burst()
	d.ResetAfter = of.reset(&h.word, a.window, at)
	switch {
	case a.kind == kindLook:
		d.Remaining = min(max(0, room)+h.leased+c.own(a.count), most)
		if d.Allowed = d.Remaining >= a.cost; !d.Allowed {
			d.RetryAfter = of.retry(&h.word, a.window, at, a.cost)
		}
	case a.kind == kindCharge:
		a.counted, a.began = true, h.from
		room += h.behind
		if d.Allowed = room >= 0; d.Allowed {
			d.Remaining = min(room+h.leased, most)
		} else {
			d.RetryAfter = of.retry(&h.word, a.window, at, 1)
		}
	case h.applied:
		d.Allowed, a.counted, a.began = true, true, of.bucket.After(h.from, a.upTo-a.cost)
		d.Remaining = min(max(0, room)+h.behind+h.cost-a.upTo+h.leased, most)
	case a.upTo < h.cost && a.upTo <= room+h.leased:
		d.Allowed, d.Remaining = true, room+h.leased-a.upTo
	default:
		a.count.mu.Lock()
		a.count.denies(a, &h.word, at, d)
		a.count.mu.Unlock()
	}
	if a.counted {
		l.tell(of, hitsCounted, a.cost-min(a.cost, h.tokens.N))
	}
}

// denies fills in the decision about a request that does not fit by the word. The count is locked.
func (c *count) denies(a *ask, x *word, now time.Duration, d *Decision) {
	d.Allowed, d.Remaining = false, c.free(a.limit.room(x, a.window, now))
	d.RetryAfter, d.ResetAfter = c.retryAfter(x, a.window, now, a.upTo), a.limit.reset(x, a.window, now)
}

// without decides without Redis. Hits that do not fit by its last word stay denied.
func (a *ask) without(l *Limiter, d *Decision, err error, now time.Duration) {
	rule, c := &a.limit.rule, a.count
	if a.kind != kindCharge {
		c.mu.Lock()
		full := c.word.at != 0 && c.number == a.limit.number(a.window) && c.free(a.limit.room(&c.word, a.window, now)) < a.upTo
		if full {
			c.denies(a, &c.word, now, d)
			d.Near = true
		}
		c.mu.Unlock()
		if full {
			return
		}
	}
	d.Err, d.Allowed = err, !rule.FailClosed
	if l.local != nil {
		a.local = l.local.take(rule, a.key, a.cost, time.Now())
		if d.Allowed = a.local != nil; d.Allowed && a.kind == kindLook {
			l.local.give(a.local, rule, a.cost)
			a.local = nil
		}
	}
}
