package pipeline

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/deadline"
	"github.com/redislanes/redislanes/internal/wire"
)

// A hit is one hit of a call, in memory that outlives a caller that leaves. The lock of
// the shard guards it until it has ended. It fits a cache line: on a key that many count, most
// are written by one processor and read by another.
type hit struct {
	call  *hitCall
	sum   *sum // nil when it has ended
	by    int64
	ttl   time.Duration
	total int64
	err   error
	shard uint32 // in Counters.shards
	at    int32  // its place on the sum
}

// A sum is hits on one key that travel as one INCRBY. Their By have one sign: then none of
// the totals in between can overflow if the last one does not.
type sum struct {
	key      *key
	delivery *delivery // that it leaves with; nil: it waits
	by       int64
	hits     []*hit
	ttl      time.Duration // the longest; 0: the time to live is left alone
	deadline time.Time     // the latest
	forever  bool          // a caller waits without a deadline
	shed     bool          // a hit was taken off, whose wishes may be among these
	left     time.Time     // when it did, if it had waited
	late     bool          // other hits do not wait for it any more, see passLocked
	unsure   atomic.Bool   // one beside it may create the key and give it no time to live

	// What became of it; owned by the goroutine that sends it.
	fingerprint fingerprint // its key
	at          uint32      // when it left, by expiries.now
	believed    uint32      // for how many ticks from then on it was believed that the key has its time to live
	open        int         // commands that have not ended
	read        bool        // its replies were read
	wants       ending      // the command to send about its key's end
	sent        count
}

// uncertain is what became of a sum until its replies are there. It stays if
// sending it panics.
var uncertain = count{err: notCounted(wire.Unknown("", errors.New("a panic while it was sent")))}

func (s *sum) begin(k *key, d *delivery) *sum {
	*s = sum{key: k, delivery: d, hits: s.hits[:0], sent: uncertain}
	return s
}

// takes reports whether one more hit can travel along.
func (s *sum) takes(by int64) bool {
	switch {
	case s.by > 0:
		return by >= 0 && by <= math.MaxInt64-s.by
	case s.by < 0:
		return by <= 0 && by >= math.MinInt64-s.by
	}
	return true
}

func (s *sum) add(h *hit) {
	h.sum, h.at = s, int32(len(s.hits))
	s.hits = append(s.hits, h)
	s.by += h.by
	s.heed(h)
}

// heed notes what the hit wants of the sum.
func (s *sum) heed(h *hit) {
	s.ttl = max(s.ttl, h.ttl)
	s.forever = s.forever || h.call.deadline.IsZero()
	if h.call.deadline.After(s.deadline) {
		s.deadline = h.call.deadline
	}
}

// remove takes a hit off. The last one gets its place: of thousands that leave at
// once, none must look through the others.
func (s *sum) remove(h *hit) {
	n := len(s.hits) - 1
	last := s.hits[n]
	s.hits[h.at], last.at = last, h.at
	s.hits[n] = nil
	s.hits = s.hits[:n]
	s.by -= h.by
	s.shed = true
	h.sum = nil
}

// settle closes a sum that leaves with the delivery. What was wanted by hits that were taken
// off is forgotten.
func (s *sum) settle(d *delivery) {
	s.delivery = d
	if s.shed {
		s.ttl, s.deadline, s.forever = 0, time.Time{}, false
		for _, h := range s.hits {
			s.heed(h)
		}
	}
}

// tellLocked notes for the hits what became of them: the sum's total is the last hit's, and
// each one before has what the next one has, less what that one added.
func (s *sum) tellLocked() {
	total := s.sent.total
	for _, h := range slices.Backward(s.hits) {
		h.total, h.err = s.sent.of(total, h)
		total -= h.by
		h.sum = nil
	}
}

// A hitCall is one call of Counters.Hit. Its own sums leave with its delivery; for its other
// hits it waits.
type hitCall struct {
	pending  atomic.Int32 // hits that wait, and one until the caller does
	done     chan struct{}
	hits     []hit
	deadline time.Time // of its context; zero for none
	own      []sum
	delivery
}

func (c *hitCall) begin(ctx context.Context, n int) {
	c.deadline, _ = ctx.Deadline()
	c.pending.Store(1)
	c.hits = slices.Grow(c.hits[:0], n)[:n]
	c.own = slices.Grow(c.own[:0], n) // keys point into it
	c.sums = c.sums[:0]
}

// newSum returns an empty sum that leaves with the call's delivery. The first one empties the delivery, which
// stays as it is if all hits of the call wait.
func (c *hitCall) newSum(k *key) *sum {
	if len(c.sums) == 0 {
		c.delivery.reset()
	}
	c.own = c.own[:len(c.own)+1]
	s := c.own[len(c.own)-1].begin(k, &c.delivery)
	c.sums = append(c.sums, s)
	return s
}

// handy reports whether the call is small enough to be kept for the next one.
func (c *hitCall) handy() bool { return cap(c.hits) <= keptHits && c.delivery.handy() }

func (c *hitCall) wait(ctx context.Context) error {
	if c.pending.Add(-1) == 0 {
		return nil
	}
	own, outer := deadline.Channels(ctx)
	select {
	case <-c.done:
		return nil
	case <-own:
	case <-outer:
	}
	return ctx.Err()
}

func (c *hitCall) ended() {
	if c.pending.Add(-1) == 0 {
		c.done <- struct{}{}
	}
}

// tell copies what became of the hits, all of which have ended.
func (c *hitCall) tell(hits []Hit) {
	for i := range hits {
		hits[i].Total, hits[i].Err = c.hits[i].total, c.hits[i].err
	}
	clear(c.hits)
}

// takeBack is tell at the context's end. Hits that still wait are taken off their sums.
func (c *hitCall) takeBack(hits []Hit, cause error) {
	late := errors.Is(cause, context.DeadlineExceeded)
	var next *delivery
	for i := range hits {
		h := &c.hits[i]
		mu := &c.counters.shards[h.shard].mu
		mu.Lock()
		switch s := h.sum; {
		case s == nil:
			hits[i].Total, hits[i].Err = h.total, h.err
		case s.delivery != nil:
			hits[i].Total, hits[i].Err = 0, notCounted(wire.Unknown("", cause))
		default:
			s.remove(h)
			hits[i].Total, hits[i].Err = 0, notCounted(wire.NotSent("", cause))
			if late {
				next = c.counters.passLocked(s.key, next)
			}
		}
		mu.Unlock()
	}
	if next != nil {
		c.counters.unattended.Stay()
		go next.run()
	}
}
