package limit

import (
	"math"
	"time"
)

// failure returns why it is not known how many hits there are, and notes how many
// there are.
func (c *call) failure(a *ask) error {
	if a.draw != nil {
		a.counted = a.draw.err == nil && (a.draw.allowed || a.charge) && !a.look
		return a.draw.err
	}
	if a.look {
		err := a.failedLook()
		a.now = min(a.now, c.withoutOwn(a))
		return err
	}
	h := &c.hits[a.hit]
	if h.Err != nil {
		return h.Err
	}
	a.counted, a.now = true, max(h.Total, a.cost) // less was given back from a key that was lost before
	if a.limit.rule.Algorithm != SlidingWindow {
		return nil
	}
	h = &c.hits[a.hit+1]
	if h.Err != nil {
		return h.Err
	}
	a.before = h.Total
	return nil
}

// withoutOwn returns how many hits there were in the look's window before those of its own
// call, which travel beside the look; the largest number if the call has none there.
func (c *call) withoutOwn(look *ask) int64 {
	n := int64(math.MaxInt64)
	if len(c.hits) == 0 {
		return n
	}
	for i := range c.asks {
		a := &c.asks[i]
		if a.asked && a.draw == nil && !a.look && a.place == look.place && c.hits[a.hit].Err == nil {
			n = min(n, max(0, c.hits[a.hit].Total-a.cost))
		}
	}
	return n
}

func (a *ask) failedLook() error {
	a.now, a.before = max(0, a.reads[0].total), 0
	a.now -= min(a.now, a.left)
	if err := a.reads[0].err; err != nil || a.reads[1] == nil {
		return err
	}
	a.before = a.reads[1].total
	return a.reads[1].err
}

func (a *ask) judge(d *Decision) {
	if b := a.draw; b != nil {
		d.Allowed, d.Remaining, d.RetryAfter, d.ResetAfter, d.from = b.allowed, b.remaining, b.retryAt, b.resetAt, b.from
		switch {
		case a.look && a.lease != nil:
			a.lookAtTokens(d)
		case a.excess > 0:
			d.from = min(d.from, a.tokens.From)
		}
		return
	}
	limit := a.limit.rule.Quota
	d.ResetAfter = a.resetAfter()
	free := limit - a.used()
	if d.Allowed = free >= 0 && (!a.look || free >= a.cost); d.Allowed {
		d.Remaining = free
		return
	}
	if !a.stays() && !a.look {
		free += a.cost // it is taken back
	}
	d.Remaining, d.RetryAfter = max(0, free), a.retryAfter(limit)
}

// used returns how many hits count against the limit.
func (a *ask) used() int64 { return plus(a.now, a.window.share(a.before)) }

// lookAtTokens adds the tokens of the lease to what a look has found.
func (a *ask) lookAtTokens(d *Decision) {
	if d.Remaining = min(d.Remaining+a.left, a.limit.rule.burst()); d.Remaining >= a.cost {
		d.Allowed, d.RetryAfter = true, 0
	}
}

// resetAfter returns when no hit of this window counts any more.
func (a *ask) resetAfter() time.Duration {
	return a.window.left() + time.Duration(a.limit.windows()-1)*a.window.length
}

// retryAfter returns when the hits of others leave room for this one, which is
// denied.
func (a *ask) retryAfter(limit int64) time.Duration {
	w, others, cost := a.window, a.now-a.cost, a.retried()
	if a.stays() || a.look {
		others = a.now
	}
	if cost > limit {
		return Never
	}
	if a.limit.rule.Algorithm != SlidingWindow {
		return w.left()
	}
	if room := limit - others - cost; room >= 0 {
		return max(1, w.untilShareIs(a.before, room)-w.elapsed)
	}
	return w.left() + w.untilShareIs(others, limit-cost)
}
