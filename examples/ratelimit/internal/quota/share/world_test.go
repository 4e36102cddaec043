package share_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/quota/share"
	"github.com/redislanes/redislanes/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const step = 10 * time.Millisecond

// A world has a bucket and clients that follow its assignments exactly, in virtual time.
// Messages take up to half of Settings.Delivery each way.
type world struct {
	t        *testing.T
	rng      *rand.Rand
	s        share.Settings
	b        *share.Bucket
	now      time.Time
	capacity int64
	clients  []*client
	messages []func() bool // each returns whether it was delivered

	random   bool  // hits come at random times, and not evenly
	greedy   bool  // every client always has hits to spare
	admitted []int // in each step
	total    int   // in the last window
}

type client struct {
	id     share.ID
	demand float64 // hits in a second
	every  time.Duration
	silent bool // sends no reports
	closed bool // its stream has ended; it still follows its assignment
	dead   bool // it has no hits any more

	share, tokens int64
	ends          time.Time
	level         float64 // tokens in the bucket
	due, gap      float64 // hits that would have come since the last one, and with how many the next one does
	hits          int64   // not reported yet
	allowed       int64
	reported      time.Time
	up, down      time.Time // when the last message arrives
	queued        *share.Assignment
	busy          time.Time // what is queued is not sent until then
}

var settings = share.Settings{
	Window: time.Second, TTL: 2 * time.Second, Delivery: 100 * time.Millisecond,
	Silence: 2 * time.Second, Idle: time.Minute,
}

func newWorld(t *testing.T, seed uint64, capacity int64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), s: settings, capacity: capacity, now: time.Unix(1_800_000_000, 0)}
	w.b = share.New(w.s)
	w.b.SetCapacity(capacity, capacity)
	return w
}

func (w *world) join(demand float64) *client {
	c := &client{id: share.ID(len(w.clients)), demand: demand, gap: 1, every: 100*time.Millisecond + w.upTo(400*time.Millisecond), reported: w.now}
	w.clients = append(w.clients, c)
	w.send(&c.up, func() { w.b.Report(w.now, c.id, 1, 0) })
	return c
}

// send delivers a message after those that were sent before it in its direction.
func (w *world) send(last *time.Time, deliver func()) {
	at := w.now.Add(w.upTo(w.s.Delivery/2 - step))
	if at.Before(*last) {
		at = *last
	}
	*last = at
	w.messages = append(w.messages, func() bool {
		if w.now.Before(at) {
			return false
		}
		deliver()
		return true
	})
}

// run lets time pass, and checks in each step what must always hold.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(step) {
		pending := w.messages
		w.messages = nil
		for _, m := range pending {
			if !m() {
				w.messages = append(w.messages, m)
			}
		}
		for _, a := range w.b.Decide(w.now, w.now.Add(time.Hour)) {
			w.clients[a.ID].queued = &a
		}
		sum, admitted := int64(0), 0
		for _, c := range w.clients {
			w.flush(c)
			admitted += c.step(w)
			sum += c.share
		}
		w.admitted = append(w.admitted, admitted)
		w.check(sum)
	}
}

func (w *world) check(sum int64) {
	w.t.Helper()
	if sum > w.capacity {
		w.t.Fatalf("at %v shares of %d are in force, of %d", w.now, sum, w.capacity)
	}
	if !w.greedy {
		return
	}
	n, window := len(w.admitted), int(w.s.Window/step)
	w.total += w.admitted[n-1]
	if n > window {
		w.total -= w.admitted[n-1-window]
	}
	if int64(w.total) > w.capacity {
		w.t.Fatalf("at %v %d hits were admitted in a window, of %d", w.now, w.total, w.capacity)
	}
}

// flush sends what is queued for the client. At times the service is too busy for it.
func (w *world) flush(c *client) {
	if w.rng.IntN(100) == 0 {
		c.busy = w.now.Add(w.upTo(2 * w.s.Delivery))
	}
	a := c.queued
	if a == nil || w.now.Before(c.busy) {
		return
	}
	c.queued = nil
	if c.closed || !w.b.Sent(w.now, a.ID) {
		return
	}
	w.send(&c.down, func() {
		if a.Share != c.share || a.Tokens != c.tokens {
			c.share, c.tokens, c.level = a.Share, a.Tokens, float64(a.Tokens)
		}
		c.ends = w.now.Add(w.s.TTL)
	})
}

// step returns how many hits were admitted.
func (c *client) step(w *world) (n int) {
	if !w.now.Before(c.ends) {
		c.share, c.tokens, c.level = 0, 0, 0
	}
	left := step.Seconds()
	for !c.dead && c.demand > 0 && c.due+c.demand*left >= c.gap {
		wait := max(0, c.gap-c.due) / c.demand
		c.fill(w, wait)
		left -= wait
		c.hits++
		if c.level >= 1 {
			c.level--
			c.allowed++
			n++
		}
		if c.due, c.gap = 0, 1; w.random {
			c.gap = w.rng.ExpFloat64()
		}
	}
	c.fill(w, left)
	if c.dead {
		return 0
	}
	c.due += c.demand * left
	if !c.silent && !c.closed && w.now.Sub(c.reported) >= c.every {
		hits, over := c.hits, w.now.Sub(c.reported)
		c.hits, c.reported = 0, w.now
		w.send(&c.up, func() {
			if !c.closed {
				w.b.Report(w.now, c.id, hits, over)
			}
		})
	}
	return n
}

func (c *client) fill(w *world, seconds float64) {
	c.level = min(float64(c.tokens), c.level+float64(c.share)*seconds/w.s.Window.Seconds())
}

func (w *world) leave(c *client) {
	c.closed = true
	w.b.Leave(c.id)
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }
