package limit

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// refill asks for hits of a lease, as any hit does: if they do not fit, none is counted. It reports whether it asks
// now. A refill that may wait travels with others: a trip of its own would cost more than its few hits. The count is
// locked.
func (l *Limiter) refill(c *count, w window.Window, n int64, wait bool) (now bool) {
	h := hit{kind: kindTake, count: c, window: w, cost: n, whole: true, lease: true, resets: c.resets}
	if wait {
		s := l.counts
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.unsent = append(s.unsent, h); len(s.unsent) == 1 {
			time.AfterFunc(lease.Tick, l.sendUnsent)
		}
		return false
	}
	if now = l.inside.Enter(); now {
		go l.carry([]hit{h}, l.filled)
	}
	return now
}

// sendUnsent sends the refills that have waited, and whose leases still want them. After Close none does.
func (l *Limiter) sendUnsent() {
	if !l.inside.Enter() {
		return
	}
	defer l.inside.Leave()
	l.counts.mu.Lock()
	unsent := l.counts.unsent
	l.counts.unsent = nil
	l.counts.mu.Unlock()
	l.background(slices.DeleteFunc(unsent, func(h hit) bool {
		h.count.mu.Lock()
		defer h.count.mu.Unlock()
		return !h.count.wants(&h)
	}), l.filled)
}

// wants reports whether the refill is for the window of the lease. The count is locked.
func (c *count) wants(h *hit) bool {
	return c.number == c.limit.number(h.window) && c.resets == h.resets
}

// filled puts what Redis has granted into the lease.
func (l *Limiter) filled(h *hit) {
	c := h.count
	lost := h.err != nil && cause.MayHaveRun(h.err) // at most
	c.mu.Lock()
	switch {
	case !c.wants(h):
	case h.err != nil || !h.applied:
		c.lease.Failed()
	default:
		if c.lease.Filled(l.stretch(h)); !c.watched {
			l.watch(c, 2*lease.Tick)
		}
	}
	c.mu.Unlock()
	if h.applied || lost {
		l.tell(c.limit, hitsCounted, h.cost)
		l.tell(c.limit, hitsLeased, h.cost)
	}
	if lost {
		l.tell(c.limit, hitsLost, h.cost)
	}
}

// stretch returns the hits of a refill. The time of tokens is measured from when Redis was asked, which is too early
// rather than too late.
func (l *Limiter) stretch(h *hit) lease.Stretch {
	of := h.count.limit
	if of.rule.Algorithm != TokenBucket {
		return lease.Stretch{N: h.cost}
	}
	begins := h.word.full - time.Duration(float64(h.behind+h.cost)*of.bucket.Per)
	return lease.Stretch{N: h.cost, Per: of.bucket.Per, At: h.word.at + begins, From: h.from, Ends: h.word.at + bucket.Held}
}
