package limit

import (
	"time"
)

// judge fills in the decision about hits by what the server has said. A request before the last one on a key is
// allowed if it fits without those behind it.
func (a *ask) judge(l *Limiter, d *Decision, h *hit, now time.Time) {
	room := a.limit.room(&h.word, a.window, h.word.at)
	switch {
	case h.applied && a.kind == kindTake:
		d.Allowed, a.counted, a.began = true, true, a.limit.bucket.After(h.from, a.upTo-a.cost)
		d.Remaining = min(max(0, room)+h.behind+h.cost-a.upTo+h.leased, a.limit.rule.burst())
		d.ResetAfter = a.limit.reset(&h.word, a.window, h.word.at)
	case a.kind == kindCharge:
		d.Allowed, a.counted, a.began = room+h.behind >= 0, true, h.from
		a.charged(d, h, room+h.behind)
	case a.upTo < h.cost && a.upTo <= room+h.leased:
		d.Allowed, d.Remaining, d.ResetAfter = true, room+h.leased-a.upTo, a.limit.reset(&h.word, a.window, h.word.at)
	default:
		a.count.mu.Lock()
		a.count.denies(a, &h.word, h.word.at, d)
		a.count.mu.Unlock()
	}
	if a.counted {
		l.tell(a.limit, hitsCounted, a.cost-min(a.cost, h.tokens.N))
	}
}

// charged fills in the figures of a charge. If it was over the limit, RetryAfter is when one hit may fit.
func (a *ask) charged(d *Decision, h *hit, room int64) {
	d.ResetAfter = a.limit.reset(&h.word, a.window, h.word.at)
	if d.Allowed {
		d.Remaining = min(room+h.leased, a.limit.rule.burst())
		return
	}
	d.RetryAfter = a.limit.retry(&h.word, a.window, h.word.at, 1)
}

// looked fills in the decision about a look. own are the hits of the lease that its own call has taken.
func (a *ask) looked(d *Decision, h *hit, own int64) {
	room := a.limit.room(&h.word, a.window, h.word.at)
	d.Remaining = min(max(0, room)+h.leased+own, a.limit.rule.burst())
	d.ResetAfter = a.limit.reset(&h.word, a.window, h.word.at)
	if d.Allowed = d.Remaining >= a.cost; !d.Allowed {
		d.RetryAfter = a.limit.retry(&h.word, a.window, h.word.at, a.cost)
	}
}

// denies fills in the decision about a request that does not fit by the word. The count is locked.
func (c *count) denies(a *ask, x *word, now time.Time, d *Decision) {
	d.Allowed, d.Remaining = false, c.free(a.limit.room(x, a.window, now))
	d.RetryAfter, d.ResetAfter = c.retryAfter(x, a.window, now, a.upTo), a.limit.reset(x, a.window, now)
}

// without decides without Redis. Hits that do not fit by its last word stay denied.
func (a *ask) without(l *Limiter, d *Decision, err error, now time.Time) {
	rule, c := &a.limit.rule, a.count
	if a.kind != kindCharge {
		c.mu.Lock()
		full := !c.word.at.IsZero() && c.number == a.limit.number(a.window) && c.free(a.limit.room(&c.word, a.window, now)) < a.upTo
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
		a.local = l.local.take(rule, c.key, a.cost, time.Now())
		if d.Allowed = a.local != nil; d.Allowed && a.kind == kindLook {
			l.local.give(a.local, rule, a.cost)
			a.local = nil
		}
	}
}
