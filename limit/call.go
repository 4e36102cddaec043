package limit

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// A call is one call of Allow on its way. It is used again for the next one.
type call struct {
	batch
	asks   []ask
	each   []Decision
	one    [1]Decision      // each, if the call has one request
	known  *count           // of the first request; nil: it was not looked up
	parts  []part           // of a Reservation
	denied bool             // by a limit that is not in the shadow
	now    time.Duration    // as Limiter.age
	costs  map[*count]int64 // by key, if the call has many requests
}

// An ask is a request of a call.
type ask struct {
	limit   *Limit
	key     string
	count   *count
	window  window.Window
	cost    int64
	upTo    int64 // with what the call's earlier requests on this key cost; of a charge or a look, the cost
	kind    kind
	lends   bool          // a lease may decide
	hit     int           // in the batch; -1: it asks nothing
	last    bool          // an eighth or less of the limit is left
	counted bool          // as far as is known
	tokens  lease.Stretch // tokens of a bucket that the lease has given
	began   bucket.Start  // where the tokens of a bucket begin that were taken
	local   *localBucket  // that tokens were taken from
}

const none = -1

// begin looks at the requests. It reports false if one is a mistake.
func (c *call) begin(l *Limiter, requests []Request, now time.Time) (right bool) {
	c.now, c.denied, c.hits, right = l.age(now), false, c.hits[:0], true
	c.asks = slices.Grow(c.asks, len(requests))[:len(requests)] // all zero
	for i := range requests {
		r, a, d := &requests[i], &c.asks[i], &c.each[i]
		a.hit = none
		of, err := l.limitOf(r)
		if err != nil {
			d.Err, d.Quota = err, of.Rule().Quota
			d.mistake, c.denied, right = true, true, false // it must be seen
			continue
		}
		a.limit, a.key, a.cost, a.kind, a.lends, a.window = of, r.Key, r.cost(), r.kind(), c.lends(of), of.windowAt(l.servers.at(now))
		d.Quota = of.rule.Quota
		c.look(l, i)
	}
	return right
}

// lends reports whether leases may decide about the limit. What they have of a bucket is not reserved.
func (c *call) lends(of *Limit) bool {
	return of.leases && !(c.parts != nil && of.rule.Algorithm == TokenBucket)
}

// look finds the count of a request, and denies it if it can never be allowed, or if the server has said
// lately that it does not fit.
func (c *call) look(l *Limiter, i int) {
	a, d, n := &c.asks[i], &c.each[i], c.known
	if c.known = nil; n == nil {
		n = l.counts.of(a.limit, a.key)
	}
	n = n.lock(a.limit, a.key, a.window, c.now)
	a.count, a.upTo = n, a.cost
	if a.kind == kindTake {
		a.upTo = c.upTo(i)
	}
	if a.kind != kindCharge {
		free := n.free(a.limit.room(&n.word, a.window, c.now))
		a.last = a.kind == kindTake && free <= a.limit.rule.burst()/8
		switch {
		case a.upTo > a.limit.rule.burst():
			d.RetryAfter = Never
		case c.now-n.word.at < l.cfg.nearTime() && free < a.upTo:
			n.denies(a, &n.word, c.now, d)
			d.Near = true
		}
	}
	n.mu.Unlock()
	c.denied = c.denied || d.RetryAfter != 0 && !a.limit.rule.Shadow
}

// upTo returns the cost of a request with those of the call's earlier ones on its key.
func (c *call) upTo(i int) int64 {
	a := &c.asks[i]
	if len(c.asks) > fewRequests {
		if c.costs == nil {
			c.costs = make(map[*count]int64)
		}
		c.costs[a.count] = plus(c.costs[a.count], a.cost)
		return c.costs[a.count]
	}
	sum := a.cost
	for j := range i {
		if b := &c.asks[j]; b.count == a.count && b.kind == kindTake {
			sum = plus(sum, b.cost)
		}
	}
	return sum
}

// prepare has leases decide, and makes the hits of the others: first the looks, which do not see the call's
// other hits. In a call that is denied only charges are counted.
func (c *call) prepare(l *Limiter) {
	if cap(c.hits) < len(c.asks) {
		c.hits = make([]hit, 0, len(c.asks)) // deliveries point to its elements
	}
	for i := range c.asks {
		if a := &c.asks[i]; a.kind == kindLook && !c.denied && c.each[i].RetryAfter == 0 {
			c.add(a)
		}
	}
	for i := range c.asks {
		a, d := &c.asks[i], &c.each[i]
		switch {
		case a.limit == nil || a.kind == kindLook || a.kind == kindTake && (c.denied || d.RetryAfter != 0):
		case a.kind == kindTake && a.lends && c.leased(l, a, d):
		default:
			c.add(a)
		}
	}
}

// add adds the request to the hits: to the one of an earlier request for hits on its key, or a new one.
func (c *call) add(a *ask) {
	if a.kind == kindTake && a.upTo > a.cost {
		for i := range c.hits {
			if h := &c.hits[i]; h.count == a.count && h.kind == kindTake {
				h.cost, h.whole, a.hit = h.cost+a.cost, true, i
				a.upTo = h.cost
				return
			}
		}
	}
	a.hit, a.upTo = len(c.hits), a.cost // a lease has decided about the requests before
	c.hits = append(c.hits, hit{kind: a.kind, count: a.count, window: a.window, cost: a.cost, whole: !a.lends, last: a.last && len(c.asks) > 1})
}

// plus returns a + b, or the largest number there is; neither may be negative. Counts may be that large:
// anybody with access to Redis may have set them.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// decide asks Redis. Limits with an eighth or less left are asked last, and only if the others allow the call. So a
// call that the others deny uses nothing of them.
func (c *call) decide(ctx context.Context, l *Limiter) {
	own := l.budgets.Begin(ctx, c.by)
	defer l.budgets.End(own)
	for _, last := range []bool{false, true} {
		if c.ask(own, last) {
			c.judge(l, last)
		}
		if c.denied {
			return
		}
	}
}

// judge decides the requests of this round.
func (c *call) judge(l *Limiter, last bool) {
	for i := range c.asks {
		a, d := &c.asks[i], &c.each[i]
		if a.hit == none || c.hits[a.hit].last != last {
			continue
		}
		h := &c.hits[a.hit]
		if h.err != nil {
			a.without(l, d, h.err, c.now)
		} else {
			a.judge(l, c, d, h)
		}
		c.denied = c.denied || !d.Allowed && !a.limit.rule.Shadow
	}
}

// own returns how many hits of the count's lease the call has.
func (c *call) own(n *count) (sum int64) {
	for i := range c.asks {
		if a := &c.asks[i]; a.count == n && c.each[i].Leased {
			sum += a.cost
		}
	}
	return sum
}

// done makes the call ready for the next one, unless deliveries point to its hits.
func (l *Limiter) done(c *call) {
	if c.left || max(cap(c.asks), cap(c.led)) > largeCall {
		return
	}
	c.each, c.costs, c.parts = nil, nil, nil
	clear(c.asks)
	clear(c.hits)
	c.asks, c.hits = c.asks[:0], c.hits[:0]
	clear(c.led)
	c.led = c.led[:0]
	l.calls.Put(c)
}
