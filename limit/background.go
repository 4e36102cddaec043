package limit

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// background asks about hits behind the callers' backs, those of each node by themselves: so a silent node
// delays those of its own keys alone. Their outcome should become known, so they have more time than callers
// have. then is called for each hit that has ended. The caller is inside.
func (l *Limiter) background(hits []hit, then func(*hit)) {
	for some := range byNode(l, hits, func(h *hit) *count { return h.count }) {
		l.inside.Stay()
		go l.carry(some, then)
	}
}

// byNode divides what is about counts by the nodes that have their keys.
func byNode[T any](l *Limiter, all []T, of func(*T) *count) iter.Seq[[]T] {
	if len(all) == 1 {
		return slices.Values([][]T{all})
	}
	ofNode := make(map[string][]T)
	for i := range all {
		node := l.client.Primary(cluster.Slot(of(&all[i]).place()))
		ofNode[node] = append(ofNode[node], all[i])
	}
	return maps.Values(ofNode)
}

// carry asks about hits, as a caller that is inside, and leaves.
func (l *Limiter) carry(hits []hit, then func(*hit)) {
	defer l.inside.Leave()
	if len(hits) == 0 {
		return
	}
	l.ask(hits)
	for i := range hits {
		then(&hits[i])
	}
}

// ask asks about hits that no caller of Allow waits for.
func (l *Limiter) ask(hits []hit) {
	b := &batch{limiter: l, hits: hits, by: time.Now().Add(returnTime)}
	own := l.budgets.Begin(l.life, b.by)
	defer l.budgets.End(own)
	b.ask(own, false)
}

// returned tells what became of hits that were to be given back.
func (l *Limiter) returned(h *hit) {
	if h.err != nil {
		l.tell(h.count.limit, hitsLost, h.cost)
		return
	}
	l.tell(h.count.limit, hitsReturned, h.cost)
}

// giveBack gives back the hits of a call that is denied. It waits for that as long as the caller has time.
func (l *Limiter) giveBack(ctx context.Context, c *call) {
	var all []hit
	for i := range c.asks {
		a, d := &c.asks[i], &c.each[i]
		switch {
		case a.local != nil:
			l.local.give(a.local, &a.limit.rule, a.cost)
		case a.kind != kindTake || !a.counted:
		default:
			d.Remaining = min(d.Remaining+a.cost, a.limit.rule.burst())
			if n := a.cost - c.toLease(a); n > 0 {
				all = append(all, hit{kind: kindReturn, count: a.count, window: a.window, cost: n, from: a.began})
			}
		}
	}
	if len(all) == 0 {
		return
	}
	ended := make(chan struct{}, len(all))
	l.background(all, func(h *hit) {
		l.returned(h)
		ended <- struct{}{}
	})
	own, cancel := context.WithDeadline(ctx, c.by)
	defer cancel()
	for range all {
		select {
		case <-ended:
		case <-own.Done():
			return
		}
	}
}

// toLease puts back into the lease what it has given for the request, and returns how many hits those are. If their
// window has ended, it puts back none.
func (c *call) toLease(a *ask) int64 {
	n, given := a.count, a.tokens
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.hit != none && c.hits[a.hit].cost == a.cost { // else a part may be of another request
		given = c.hits[a.hit].tokens
	}
	if n.number != n.limit.number(a.window) {
		return 0
	}
	n.lease.Give(given)
	return given.N
}

// lookLate asks for the server's word once more if a delivery has ended without it: later calls then know it.
// The count is locked, and the caller is inside.
func (l *Limiter) lookLate(c *count, w window.Window, err error) {
	if c.late || !errors.Is(err, redislanes.ErrUnknownOutcome) {
		return
	}
	c.late = true
	l.inside.Stay()
	go l.carry([]hit{{kind: kindLook, count: c, window: w}}, func(*hit) {
		c.mu.Lock()
		c.late = false
		c.mu.Unlock()
	})
}
