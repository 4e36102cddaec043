package limit

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/turns"
	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/limit/internal/counter"
	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
	"github.com/redislanes/redislanes/pipeline"
)

// A delivery is hits of one kind on one count, on their way to its server.
type delivery struct {
	count  *count
	hits   []*hit
	n      int64 // of all hits
	number int64
	resets int32
	asked  time.Duration
	more   bool // there is more to ask
	take   counter.Take
	draw   bucket.Draw
	told   []*batch // of the hits that are decided
	one    [1]*hit
	only   [1]*batch

	carried bool // by a goroutine that sends what waits
}

// deliver sends deliveries in one pipeline, and again what is not decided by the replies.
func (l *Limiter) deliver(ctx context.Context, all []delivery) {
	p := l.pipe()
	defer l.unpipe(p)
	for more := true; more; {
		for i := range all {
			all[i].appendTo(l, p)
		}
		_ = p.Do(ctx) // each command has its error
		more = false
		for i := range all {
			more = all[i].read(l) || more
		}
		if more {
			p.Reset()
		}
	}
}

// prepare notes what is known of the key before the server is asked. The count is locked.
func (d *delivery) prepare(l *Limiter) {
	c, h := d.count, d.hits[0]
	w, of := h.window, c.limit
	for _, h := range d.hits {
		h.sent = h.asks()
		d.n += h.sent
	}
	name, before, x := c.name, c.before, c.word
	d.number, d.resets, d.more = of.number(w), c.resets, true
	if d.number != c.number { // others have begun the next window
		name, before = of.names(d.number, c.key())
		x = word{}
	}
	if of.rule.Algorithm == TokenBucket {
		d.draw = bucket.Draw{Key: name, Rule: of.bucket, Cost: d.n, Mode: d.mode(), From: h.from, Now: l.clock()}
		return
	}
	bound, n := of.rule.Quota, d.n
	switch h.kind {
	case kindCharge:
		bound = math.MaxInt64
	case kindReturn:
		n = -n
	case kindLook:
		n = 0
	}
	d.take = counter.Take{
		Key: name, Before: before, N: n, Bound: bound, Window: w, TTL: of.ttl(w, l.cfg.Budget),
		Known: x.at != 0 && !x.doubt, Used: x.used, UsedBefore: x.before,
	}
}

// mode returns what the bucket's script is to do. Hits of a lease are used later.
func (d *delivery) mode() bucket.Mode {
	leases := slices.ContainsFunc(d.hits, func(h *hit) bool { return h.lease })
	switch d.hits[0].kind {
	case kindCharge:
		return bucket.Charge
	case kindLook:
		return bucket.Look
	case kindReturn:
		if leases {
			return bucket.Unlease
		}
		return bucket.Return
	}
	if leases {
		return bucket.Lease
	}
	return bucket.Take
}

func (d *delivery) appendTo(l *Limiter, p *pipeline.Pipeline) {
	switch {
	case !d.more:
	case d.draw.Key != "":
		d.draw.Append(p)
	default:
		l.server.Append(p, &d.take)
	}
}

// read reads the replies, and reports whether there is more to ask.
func (d *delivery) read(l *Limiter) bool {
	switch {
	case !d.more:
	case d.draw.Key != "":
		d.draw.Read()
		d.more = false
	default:
		d.more = l.server.Read(&d.take)
	}
	return d.more
}

// said returns what the server has said: whether the hits were counted, and its word.
func (d *delivery) said() (applied bool, x word, err error) {
	if d.draw.Key != "" {
		return d.draw.Applied, word{at: d.asked, full: d.draw.Full}, d.draw.Err
	}
	return d.take.Applied, word{at: d.asked, used: d.take.Used, before: d.take.UsedBefore, doubt: !d.take.Known}, d.take.Err
}

// heard tells the hits what the server has said. Hits that fit only without the others wait for the next
// delivery. It reports whether that should begin: hits wait, or callers that travelled together have more. Of a
// count with a goroutine that sends what waits, only that goroutine begins it.
func (l *Limiter) heard(d *delivery) (goesOn bool) {
	c := d.count
	applied, x, err := d.said()
	c.mu.Lock()
	if c.limit.rule.Algorithm == TokenBucket {
		c.lease.Expire(l.age(time.Now()))
	}
	if d.number == c.number && d.resets == c.resets && x.at >= c.word.at {
		if err == nil {
			c.word = x
			d.deny(&x)
		} else {
			c.word.doubt = c.word.doubt || x.doubt
		}
	}
	var again []*hit
	w, sum := d.hits[0].window, int64(0) // sum: of the hits so far. One that has ended is its caller's
	for _, h := range d.hits {
		before := sum
		sum += h.sent
		switch {
		case h.state == left:
		case err != nil:
			h.err = err
			h.giveHelpBack()
			d.end(h)
		case applied || h.kind != kindTake:
			if h.from = c.limit.bucket.After(d.draw.Began, before); d.draw.Mode == bucket.Lease && !h.lease {
				h.from.Floor = 0 // the tokens are before those of a lease
			}
			h.applied, h.behind = applied, d.n-sum
			d.decided(h, &x)
		case h.mayFit(&x, d.hits[0].window, len(d.hits) == 1):
			h.state = waits
			again = append(again, h)
		default:
			d.decided(h, &x)
		}
	}
	if len(again) > 0 { // else the memory of those that waited is used again
		c.waiting = append(again, c.waiting...)
	}
	l.lookLate(c, w, err)
	if d.carried || !c.carried {
		goesOn = len(c.waiting) > 0 || len(d.hits) > mostAlone
		c.carried = goesOn
	}
	if goesOn {
		c.asked = l.age(time.Now())
	} else {
		c.rest()
	}
	c.mu.Unlock()
	return goesOn
}

// rest ends a delivery that no other one follows. The count is locked.
func (c *count) rest() {
	if c.travels--; len(c.waiting) == 0 {
		c.waiting = nil // no key keeps the memory of its largest crowd
	}
}

// end notes that the hit is decided. The count is locked.
func (d *delivery) end(h *hit) {
	h.state = ended
	d.told = append(d.told, h.batch)
}

// deny ends the hits that have waited because they do not fit, if the server says so. The count is locked.
func (d *delivery) deny(x *word) {
	c := d.count
	c.waiting = slices.DeleteFunc(c.waiting, func(h *hit) bool {
		over := h.missed && h.state == waits && h.window.Number == d.hits[0].window.Number && !h.mayFit(x, h.window, false)
		if over {
			d.decided(h, x)
		}
		return over
	})
}

// decided ends a hit that the server's word decides. The count is locked.
func (d *delivery) decided(h *hit, x *word) {
	h.word = *x
	if c := h.count; c.number == c.limit.number(h.window) {
		h.leased = c.lease.Left()
	}
	d.end(h)
}

// mayFit reports whether the hit may fit in the next delivery, if it was not asked about alone, or with what the
// lease gives. If the lease gives all, it is allowed. The word is about the window at the moment of w. The count is
// locked.
func (h *hit) mayFit(x *word, w window.Window, alone bool) bool {
	c := h.count
	room := max(0, c.limit.room(x, w, x.at))
	if h.asks() <= room {
		return !alone
	}
	h.giveHelpBack()
	missing := h.cost - room
	if h.whole || c.number != c.limit.number(h.window) {
		return false
	}
	if !c.lease.Take(missing, &h.tokens) {
		return false
	}
	h.applied = room == 0
	return room > 0
}

// giveHelpBack gives back to the lease what it has given. The count is locked.
func (h *hit) giveHelpBack() {
	if c := h.count; c.number == c.limit.number(h.window) {
		c.lease.Give(h.tokens)
	}
	h.tokens = lease.Stretch{}
}

// heardAll tells the hits of all deliveries, and has next go on with the counts that have more. That begins just before
// the last caller is told: Go runs what became ready last first, so that all callers run before it, and their next hits
// travel with it. This is a matter of speed only.
func (l *Limiter) heardAll(all []delivery, more []*count, next func([]*count)) {
	for i := range all {
		if d := &all[i]; l.heard(d) {
			more = append(more, d.count)
		}
	}
	var last *batch
	for i := range all {
		for _, b := range all[i].told {
			if last != nil {
				last.Ended() // after which its hits may be used again
			}
			last = b
		}
	}
	next(more)
	if last != nil {
		last.Ended()
	}
}

// goOn begins to send the hits that wait on the counts, those of each node by themselves.
func (l *Limiter) goOn(counts []*count) {
	if len(counts) == 0 {
		return
	}
	for some := range byNode(l, counts, func(c **count) *count { return *c }) {
		l.inside.Stay()
		go l.next(some)
	}
}

// next sends the hits that wait on the counts in one pipeline, and goes on while there are any. The caller is inside.
func (l *Limiter) next(counts []*count) {
	turns.Gather(func() (n int) {
		for _, c := range counts {
			n += c.waits()
		}
		return n
	})
	c := l.calls.Get().(*call) // for its memory
	defer l.done(c)
	c.led = slices.Grow(c.led, len(counts))[:len(counts)]
	n, by, now := 0, time.Time{}, l.age(time.Now())
	for _, of := range counts {
		d := &c.led[n]
		*d = delivery{carried: true}
		if until := of.together(l, d, now); !until.IsZero() {
			n++
			if until.After(by) {
				by = until
			}
		}
	}
	if n > 0 {
		ctx := l.budgets.Begin(l.life, by)
		l.deliver(ctx, c.led[:n])
		l.budgets.End(ctx)
	}
	l.heardAll(c.led[:n], counts[:0], func(more []*count) {
		if len(more) > 0 {
			go l.next(more)
		} else {
			l.inside.Leave()
		}
	})
}

// waits returns how many hits wait.
func (c *count) waits() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// together takes hits that wait and can travel as one: of one kind and one window, and as many as fit by the
// server's last word, or the first one. by is the latest of their deadlines; zero if no hit waits.
func (c *count) together(l *Limiter, d *delivery, now time.Duration) (by time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d.count, d.asked, d.hits = c, now, make([]*hit, 0, len(c.waiting))
	var sum int64
	c.waiting = slices.DeleteFunc(c.waiting, func(h *hit) bool {
		if h.state == left {
			return true
		}
		if len(d.hits) > 0 {
			first := d.hits[0]
			room := c.limit.room(&c.word, first.window, d.asked)
			switch {
			case h.kind != first.kind, h.window.Number != first.window.Number, c.limit.number(h.window) != c.number:
				return false
			case h.kind == kindTake && plus(sum, h.asks()) > room:
				h.missed = true
				return false
			case h.kind == kindReturn && c.limit.rule.Algorithm == TokenBucket:
				return false
			}
		}
		h.state, sum = travels, plus(sum, h.asks())
		d.hits = append(d.hits, h)
		if h.batch.by.After(by) {
			by = h.batch.by
		}
		return true
	})
	if c.asked = d.asked; len(d.hits) > 0 {
		d.told = make([]*batch, 0, len(d.hits))
		d.prepare(l)
	} else {
		c.carried = false
		c.rest()
	}
	return by
}
