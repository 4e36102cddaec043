package limit

import (
	"context"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/turns"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/limit/internal/counter"
	"github.com/redislanes/redislanes/limit/internal/lease"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// A kind is what a hit asks for.
type kind uint8

const (
	kindTake   kind = iota // its hits, all or none
	kindCharge             // its hits, also beyond the limit
	kindReturn             // that its hits are given back
	kindLook               // how many hits there are
)

// A hit is what a call asks about one count: requests for the same hits of one key are one.
type hit struct {
	kind   kind
	count  *count
	window window.Window
	cost   int64
	last   bool         // it is asked about after the others of its call
	whole  bool         // the lease gives no part of it
	from   bucket.Start // where the tokens of a bucket begin that are given back, or were taken
	lease  bool         // a lease asks for the hits, or gives them back
	resets int32        // of a refill: those of its count before
	batch  *batch

	// The count's lock guards what follows, until the hit has ended.
	state   state
	sent    int64         // of its cost, that the delivery asks for
	tokens  lease.Stretch // hits that the lease has given
	missed  bool          // a delivery has left without it, since it does not fit by the last word
	applied bool
	word    word  // what the server has said: without the hits if it has denied them
	behind  int64 // hits that were counted behind these, in one delivery with them
	leased  int64 // hits that the lease had then
	err     error
}

// A state is how far a hit is.
type state uint8

const (
	waits state = iota
	travels
	left // its caller has gone
	ended
)

// asks returns how many hits the server is asked for.
func (h *hit) asks() int64 { return h.cost - h.tokens.N }

// A batch is hits that one goroutine asks about. Those on keys that nobody asks about travel in its
// pipeline; the others wait for their turn.
type batch struct {
	limiter *Limiter
	hits    []hit
	led     []delivery
	by      time.Time // when it gives up

	turns.Latch
	left bool // it has left before all had ended: deliveries may point to its hits
}

// ask has the servers decide about the hits, the last ones or the others, by the batch's deadline. It reports
// whether there are any.
func (b *batch) ask(ctx context.Context, last bool) bool {
	l, n, now := b.limiter, 0, b.limiter.age(time.Now())
	b.Begin()
	clear(b.led)
	b.led = slices.Grow(b.led[:0], len(b.hits)) // all zero
	for i := range b.hits {
		h := &b.hits[i]
		if h.last != last {
			continue
		}
		n++
		if b.left { // the caller has gone: nothing more is asked
			h.err, h.state = wire.NotSent("", ctx.Err()), left
			continue
		}
		b.Add()
		h.batch = b
		b.join(h, now)
	}
	if n == 0 || b.left {
		return n > 0
	}
	if len(b.led) > 0 {
		l.deliver(ctx, b.led)
		l.heardAll(b.led, nil, l.goOn)
	}
	if err := b.Wait(ctx); err != nil {
		b.leave(err, last)
	}
	return true
}

// join has the hit lead a delivery, or wait for its turn.
func (b *batch) join(h *hit, now time.Duration) {
	h.count.mu.Lock()
	defer h.count.mu.Unlock()
	if !h.count.join(h, now) {
		return
	}
	b.led = b.led[:len(b.led)+1]
	d := &b.led[len(b.led)-1]
	d.count, d.one[0], d.asked = h.count, h, now
	d.hits, d.told = d.one[:], d.only[:0]
	d.prepare(b.limiter)
}

// leave ends the hits that have not ended, since the batch's time has.
func (b *batch) leave(cause error, last bool) {
	for i := range b.hits {
		if h := &b.hits[i]; h.last == last {
			b.left = h.leave(cause) || b.left
		}
	}
	if !b.left {
		b.Rest() // all have ended meanwhile
	}
}

// mostAlone is how many deliveries of a key that is far from its limit are under way at once, each with the hits of
// one caller. More hits wait, and travel together.
const mostAlone = 4

// join has the hit wait for its turn. It reports whether that is now: no delivery of its key is under way, or it may
// travel alone. Nobody waits if none has left for turns.LateAfter: those under way may be on a silent connection, and
// a goroutine that carries hits, too. The count is locked.
func (c *count) join(h *hit, now time.Duration) (leads bool) {
	late := now-c.asked >= turns.LateAfter
	alone := c.travels < mostAlone && !c.carried && len(c.waiting) == 0 && c.far(h, now)
	if c.travels > 0 && !alone && !late {
		c.waiting = append(c.waiting, h)
		return false
	}
	c.travels++
	c.asked, c.carried, h.state = now, c.carried && !late, travels
	return true
}

// far reports whether the key is so far from its limit that the hit may travel beside others. It may not beside a
// refill: until that has been heard of, nobody can say how many hits are left. The count is locked.
func (c *count) far(h *hit, now time.Duration) bool {
	return h.kind == kindTake && !c.lease.Asked() && c.word.at != 0 && c.number == c.limit.number(h.window) &&
		h.cost <= c.limit.room(&c.word, h.window, now)/(mostAlone*counter.Far)
}

// leave ends a hit whose caller leaves. It reports false if the hit had ended already.
func (h *hit) leave(cause error) bool {
	c := h.count
	c.mu.Lock()
	defer c.mu.Unlock()
	switch h.state {
	case ended:
		return false
	case waits:
		h.err = wire.NotSent("", cause)
	default:
		h.err = wire.Unknown("", cause)
	}
	h.giveHelpBack()
	h.state = left
	return true
}
