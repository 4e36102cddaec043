package limit

import (
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/pipeline"
)

// A call is one call of Allow on its way. It is used again for the next one.
type call struct {
	asks    []ask
	hits    []pipeline.Hit
	draws   []*draw // of token buckets
	each    []Decision
	denied  bool      // by a limit that is not in the shadow
	refused error     // the mistake for which it is denied, whatever it asks
	careful bool      // a key of it was over its limit before: look, then count
	leases  bool      // may decide: the limiter is not closed
	at      time.Time // the time of the call, or of its second part after a look
	began   time.Time
	costs   map[place]int64 // of a call of many requests, by key
	refills []*refill       // that its leases ask for now
	yields  bool            // a lease has decided, and its refill is under way
}

// An ask is a request, and where its hits are.
type ask struct {
	limit   *Limit
	cost    int64
	earlier int64 // what the call's earlier requests on this key cost, with charges; 0 for a charge or a look
	look    bool  // nothing is counted: the request only looks, or the call looks first
	only    bool  // the request only looks
	charge  bool  // the hits stay counted, whatever the decision
	window  window
	asked   bool // Redis is
	place   place
	local   *localBucket  // that tokens were taken from
	hit     int           // its first one in hits; a sliding window's second one is of the window before
	counted bool          // the first one was, as far as is known
	owed    bool          // it is given back: hit says where in hits, or in draws
	crowded bool          // denied, but there may be room soon
	now     int64         // hits in the window, with this one
	before  int64         // hits in the window before
	draw    *draw         // of a token bucket, which has no hits
	lease   *keyLease     // of the key, if it has one
	fills   int64         // how many refills it had before
	left    int64         // what it had when a look was read
	excess  int64         // what it has given for hits that cost more than Redis had
	tokens  lease.Stretch // of a bucket, that were taken from the lease

	refilled <-chan struct{} // closed when tokens have come that the call waits for; nil if it does not wait

	returned int64    // how many returns of the lease had ended
	reads    [2]*draw // of a look at windows, which counts nothing: this one, and the one before
}

func (a *ask) number() int64 { return a.limit.number(a.window) }

// begin prepares the hits. It reports whether there are any: not if the call is
// decided already.
func (c *call) begin(ctx context.Context, l *Limiter, requests []Request, now, began time.Time, leases bool) bool {
	c.asks, c.denied, c.refused, c.careful, c.leases, c.at, c.began = c.asks[:0], false, nil, false, leases, now, began
	counts := false
	for i, r := range requests {
		d := &c.each[i]
		if !r.Limit.made() || r.Cost < 0 {
			d.Err = errNoLimit
			if r.Limit.made() {
				d.Err, d.Quota = r.badCost(), r.Limit.rule.Quota
			}
			d.mistake, c.denied = true, true // it must be seen
			c.asks = append(c.asks, ask{})
			continue
		}
		rule := &r.Limit.rule
		a := ask{limit: r.Limit, cost: r.cost(), only: r.Look, charge: r.charges(), window: l.windowAt(now, rule.Window)}
		a.place = place{r.Limit.heads(a.number()).now, r.Key}
		d.Quota, d.from = rule.Quota, a.number()
		if !a.charge {
			a.earlier = c.costBefore(&a)
		}
		if !a.charge && a.cost > rule.burst()-a.earlier {
			d.RetryAfter = Never
		}
		if d.RetryAfter == Never || !a.charge && l.near.denies(a.place, rule, a.earlier+a.cost, now, d) {
			c.denied = c.denied || !rule.Shadow
		} else if len(requests) > fewRequests && !a.only {
			c.noteCost(&a)
		}
		c.careful = c.careful || len(requests) > 1 && l.near.wasFull(a.place, now)
		counts = counts || rule.CountDenied || a.charge
		c.asks = append(c.asks, a)
	}
	c.careful = c.careful && !counts
	c.prepare(ctx, l, c.careful)
	if c.careful && len(c.draws) == 0 { // leases have enough: there is nothing to look at
		c.careful = false
		c.prepare(ctx, l, false)
	}
	return len(c.hits)+len(c.draws) > 0
}

// prepare makes the hits and draws, unless leases decide; for a call that is denied only those
// of charges. With look, they count nothing. It sends the refills of the leases, and waits for those
// that bring tokens for the call, for half of the budget at most.
func (c *call) prepare(ctx context.Context, l *Limiter, look bool) {
	c.hits, c.draws, c.yields = c.hits[:0], c.draws[:0], false
	for i := range c.asks {
		a := &c.asks[i]
		a.look, a.asked, a.draw, a.refilled = look || a.only, false, nil, nil
		switch {
		case c.denied && !a.charge || c.each[i].RetryAfter != 0:
		case c.leases && !a.only && !a.charge && a.limit.rule.leased() && a.leased(l, c, &c.each[i]):
		case a.refilled != nil: // it waits until the refills of all have been sent
		case a.limit.rule.Algorithm == TokenBucket:
			c.addDraw(l, a)
		case a.look:
			c.addReads(l, a)
		default:
			c.addHits(&l.cfg, a)
		}
	}
	l.sendTogether(c.refills)
	clear(c.refills)
	c.refills = c.refills[:0]
	for i := range c.asks {
		if a := &c.asks[i]; a.refilled != nil && !a.waits(ctx, l, c, &c.each[i]) {
			c.addDraw(l, a)
		}
	}
	if c.yields {
		runtime.Gosched() // callers that never wait must not keep the refills' goroutines from running
	}
}

// costBefore returns what requests before this one of the call cost on the same key,
// those that are to be asked about. A look does not see them.
func (c *call) costBefore(a *ask) (sum int64) {
	if a.only {
		return 0
	}
	if c.costs != nil {
		return c.costs[a.place]
	}
	for i := range c.asks {
		if c.asks[i].place == a.place && c.each[i].RetryAfter == 0 && !c.asks[i].only {
			sum = plus(sum, c.asks[i].cost)
		}
	}
	return sum
}

// noteCost is for calls of more than fewRequests.
func (c *call) noteCost(a *ask) {
	if c.costs == nil {
		c.costs = make(map[place]int64)
	}
	c.costs[a.place] = plus(c.costs[a.place], a.cost)
}

// plus returns a + b, or the largest number there is; neither may be negative. Counts may be that large:
// anybody with access to Redis may have set them.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (c *call) addDraw(l *Limiter, a *ask) {
	d := newDraw(a.place.String(), &a.limit.rule, a.cost, l.now(), 0)
	if a.look {
		d.look()
		a.findLease(l)
	}
	if a.charge {
		d.charge()
	}
	a.asked, a.draw = true, &d
	if a.look { // it runs before the call's hits on the key, which it does not see
		c.draws = slices.Insert(c.draws, 0, &d)
		return
	}
	c.draws = append(c.draws, &d)
}

// refuse denies all requests because of a mistake.
func (c *call) refuse(err error) {
	c.asks, c.hits, c.draws, c.denied, c.refused = c.asks[:0], c.hits[:0], c.draws[:0], true, err
	for i := range c.each {
		c.each[i].Err, c.each[i].mistake = err, true
		c.asks = append(c.asks, ask{})
	}
}

func (c *call) addHits(cfg *Config, a *ask) {
	a.asked, a.hit = true, len(c.hits)
	c.hits = a.limit.appendHits(c.hits, a.window, a.place.key, a.cost, cfg.Budget)
}

// addReads is addHits for a look, which writes nothing.
func (c *call) addReads(l *Limiter, a *ask) {
	a.asked, a.reads = true, [2]*draw{{key: a.place.String(), get: true}}
	a.findLease(l)
	c.draws = append(c.draws, a.reads[0])
	if a.limit.rule.Algorithm == SlidingWindow {
		a.reads[1] = &draw{key: a.limit.heads(a.window.number).before + a.place.key, get: true}
		c.draws = append(c.draws, a.reads[1])
	}
}

func (c *call) decide(l *Limiter) {
	for i := range c.asks {
		a, d := &c.asks[i], &c.each[i]
		if !a.asked {
			continue
		}
		rule := &a.limit.rule
		if err := c.failure(a); err != nil {
			a.decideWithout(l, d, err)
		} else {
			a.judge(d)
			a.help(l, d)
			a.teach(d)
		}
		d.counted = a.counted
		c.denied = c.denied || !d.Allowed && !rule.Shadow
	}
}

// decideWithout decides without Redis.
func (a *ask) decideWithout(l *Limiter, d *Decision, err error) {
	rule := &a.limit.rule
	d.Err, d.Allowed = err, !rule.FailClosed
	if l.local != nil {
		a.local = l.local.take(rule, a.place.key, a.cost, time.Now())
		d.Allowed = a.local != nil
	}
}

// teach tells the lease of the key what Redis has said. The hits of the lease are free, too.
func (a *ask) teach(d *Decision) {
	if a.lease == nil || a.look {
		return
	}
	free := a.lease.learn(a.number(), d.Remaining, a.fills)
	if d.Allowed {
		d.Remaining = min(free, a.limit.rule.burst())
	}
}

func (c *call) tell(l *Limiter) {
	if l.cfg.Observer == nil {
		return
	}
	for i := range c.asks {
		if a := &c.asks[i]; a.counted && !c.each[i].Leased {
			l.tellSome(a.limit, hitsCounted, a.drawn())
		}
	}
}

// remember notes the keys that are over their limits.
func (c *call) remember(l *Limiter) {
	if l.near == nil {
		return
	}
	for i := range c.asks {
		a, d := &c.asks[i], &c.each[i]
		if !a.asked || d.Err != nil || d.Allowed {
			continue
		}
		most, cost := l.cfg.nearTime(), a.retried()
		if !a.stays() {
			cost += a.earlier
		}
		switch {
		case a.limit.rule.CountDenied:
			most = Never
		case a.crowded:
			most = 0
		}
		l.near.note(a.place, &a.limit.rule, cost, c.began, d, most)
	}
}

// result chooses the decision that says most.
func (c *call) result() Result {
	r := Result{Each: c.each}
	var first error
	chosen := -1
	for i := range c.each {
		d := &c.each[i]
		d.other = c.denied && d.Allowed
		switch a := &c.asks[i]; {
		case a.limit != nil && a.limit.rule.Shadow, c.denied && d.Allowed:
			continue
		case !a.asked && !d.Leased && d.Err == nil && d.RetryAfter == 0: // the call was denied before
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
	} else if c.refused != nil {
		r.Err, r.mistake = c.refused, true
	}
	if r.Allowed = !c.denied; r.Allowed {
		r.Err = first
	}
	return r
}

// saysMore reports whether d says more about a call than e. Both are decisions of that call, and
// both are allowed or denied.
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

// fail decides all without Redis.
func (c *call) fail(l *Limiter, err error) {
	for i := range c.asks {
		if a, d := &c.asks[i], &c.each[i]; a.asked {
			a.decideWithout(l, d, err)
			c.denied = c.denied || !d.Allowed && !a.limit.rule.Shadow
		}
	}
}

func (c *call) end() {
	c.costs = nil
	if c.each = nil; cap(c.asks) > largeCall {
		c.asks, c.hits, c.draws, c.refills = nil, nil, nil, nil
	}
	clear(c.asks[:cap(c.asks)])
	clear(c.hits[:cap(c.hits)])
	clear(c.draws[:cap(c.draws)])
}
