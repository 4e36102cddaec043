package limit

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/limit/internal/lease"
)

// refill asks for the hits of leases, as any hit does: if they do not fit, none is counted. Those that may wait
// travel with others, since a trip of its own would cost more than the few hits of such a refill. The caller is inside.
func (l *Limiter) refill(all []hit) {
	if len(all) == 0 {
		return
	}
	now := all[:0]
	for i := range all {
		if all[i].wait {
			l.counts.keep(all[i])
		} else {
			now = append(now, all[i])
		}
	}
	l.background(now, l.filled)
}

// keep keeps a refill until the next look at the leases.
func (s *counts) keep(h hit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsent = append(s.unsent, h)
}

// sendUnsent sends the refills that have waited, and whose leases still want them. The caller is inside.
func (l *Limiter) sendUnsent() {
	l.counts.mu.Lock()
	unsent := l.counts.unsent
	l.counts.unsent = nil
	l.counts.mu.Unlock()
	l.background(slices.DeleteFunc(unsent, func(h hit) bool { return !h.wanted() }), l.filled)
}

// wanted reports whether the lease of a refill is still of its window.
func (h *hit) wanted() bool {
	c := h.count
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease == h.lease && c.number == c.limit.number(h.window) && c.resets == h.resets
}

// filled puts what Redis has granted into the lease. If that has ended meanwhile, the hits are given back.
func (l *Limiter) filled(h *hit) {
	c := h.count
	c.mu.Lock()
	k, counted, lost := h.lease, int64(0), int64(0)
	var back []hit
	if h.applied {
		counted = h.cost
	}
	switch {
	case h.err != nil && !didNotRun(h.err):
		counted, lost = h.cost, h.cost // at most
		k.Failed()
	case !h.applied:
		k.Failed()
	case c.number != c.limit.number(h.window) || h.resets != c.resets: // nobody can use them
	case k != c.lease:
		back = []hit{{kind: kindReturn, count: c, window: h.window, cost: h.cost, from: h.from, lease: k}}
	default:
		k.Filled(h.cost)
		if k.line != nil {
			k.Lose(k.line.Add(l.stretch(h)))
		}
	}
	c.mu.Unlock()
	l.background(back, l.returned)
	l.tellSome(c.limit, hitsCounted, counted)
	l.tellSome(c.limit, hitsLeased, counted)
	l.tellSome(c.limit, hitsLost, lost)
}

// stretch returns the tokens of a refill. Their time is measured from when Redis was asked, which is too early
// rather than too late.
func (l *Limiter) stretch(h *hit) lease.Stretch {
	per := h.count.limit.rule.perToken()
	begins := h.word.full - time.Duration(float64(h.behind+h.cost)*per)
	at := h.word.at.Sub(l.counts.epoch)
	return lease.Stretch{At: at + begins, From: h.from, N: h.cost, Ends: at + bucket.Held}
}

func (l *Limiter) tellSome(of *Limit, what string, n int64) {
	if n > 0 {
		l.tell(of, what, n)
	}
}
