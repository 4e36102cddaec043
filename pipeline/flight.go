package pipeline

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/deadline"
	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/wire"
)

// A hitCall is one call of Counters.Hit that waits for its flights.
type hitCall struct {
	pending  atomic.Int32 // members that have not landed, and one until the caller waits
	done     chan struct{}
	members  []member
	own      []*flight // that leave with this call
	deadline time.Time // of its context; zero for none

	// Of a call that flies to several nodes.
	groups   []*group // its own flights by node; nil when they have landed, or go on apart from it
	requests engine.Requests
	ended    func(i int, finished bool)
	ctx      context.Context // that they fly with
}

// handyHits is how many hits the memory that is kept from one call for the next
// is for, however few the next one has.
const handyHits = 1024

func (c *Counters) newCall() *hitCall {
	call := &hitCall{done: make(chan struct{}, 1)}
	call.ended = func(i int, finished bool) { c.ended(call, i, finished) }
	return call
}

func (c *hitCall) begin(ctx context.Context, n int) {
	c.deadline, _ = ctx.Deadline()
	c.pending.Store(int32(n) + 1)
	c.members = slices.Grow(c.members[:0], n)[:n]
	c.own = c.own[:0]
	c.requests.Reset()
}

// handy reports whether the call is small enough to be kept for the next one.
func (c *hitCall) handy() bool { return cap(c.members) <= handyHits && cap(c.own) <= handyHits }

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

func (c *hitCall) landed() {
	if c.pending.Add(-1) == 0 {
		c.done <- struct{}{}
	}
}

// land copies what became of the hits, all of which have landed.
func (c *hitCall) land(hits []Hit) {
	for i := range hits {
		hits[i].Total, hits[i].Err = c.members[i].total, c.members[i].err
		c.members[i] = member{}
	}
	clear(c.own)
}

// A member is a hit on its flight. The lock of the key's shard guards it until
// the flight has landed.
type member struct {
	call   *hitCall
	by     int64
	ttl    time.Duration
	flight *flight // nil when it has landed
	at     int     // its place on the flight
	total  int64
	err    error
}

// A flight is hits on one key that travel as one INCRBY. Their By have one
// sign: then none of the totals in between can overflow if the last one does
// not.
type flight struct {
	lineup   *lineup
	sum      int64
	members  []*member
	ttl      time.Duration // the longest; 0: EXPIRE is not sent
	deadline time.Time     // the latest
	forever  bool          // somebody waits without a deadline
	shed     bool          // a hit was taken off, whose wishes may be among these
	left     bool          // it takes nobody more
	doubted  atomic.Bool   // one beside it may create the key and give it no time to live

	// What became of it; owned by the goroutine that flies it.
	mark  mark   // its key
	at    uint32 // when it left, in ticks of what is known about times to live
	sent  count
	apart bool    // the hits go one by one
	parts []count // what became of each, then
}

// uncertain is what became of a flight until its replies are there. It stays if
// sending it panics.
var uncertain = count{err: notCounted(wire.Unknown("", errors.New("a panic while it was sent")))}

func (c *Counters) newFlight(l *lineup) *flight { return c.flights.Get().(*flight).begin(l) }

// begin empties the flight for hits on the lineup's key.
func (f *flight) begin(l *lineup) *flight {
	*f = flight{lineup: l, members: f.members[:0], sent: uncertain}
	return f
}

// putBackFlight keeps the memory of a flight that has landed, or of its whole lineup.
func (c *Counters) putBackFlight(f *flight) {
	switch l := f.lineup; {
	case f != &l.first:
		c.flights.Put(f)
	case l.over:
		c.putBackLineup(l)
	}
}

// takes reports whether one more hit can travel along.
func (f *flight) takes(by int64) bool {
	switch {
	case f.left:
		return false
	case f.sum > 0:
		return by >= 0 && by <= math.MaxInt64-f.sum
	case f.sum < 0:
		return by <= 0 && by >= math.MinInt64-f.sum
	}
	return true
}

func (f *flight) add(m *member) {
	m.flight, m.at = f, len(f.members)
	f.members = append(f.members, m)
	f.sum += m.by
	f.heed(m)
}

// heed notes what the hit wants of the flight.
func (f *flight) heed(m *member) {
	f.ttl = max(f.ttl, m.ttl)
	f.forever = f.forever || m.call.deadline.IsZero()
	if m.call.deadline.After(f.deadline) {
		f.deadline = m.call.deadline
	}
}

// remove takes a hit off. The last one gets its place: of thousands that leave at
// once, none must look through the others.
func (f *flight) remove(m *member) {
	n := len(f.members) - 1
	last := f.members[n]
	f.members[m.at], last.at = last, m.at
	f.members[n] = nil
	f.members = f.members[:n]
	f.sum -= m.by
	f.shed = true
	m.flight = nil
}

// leave closes the flight. What was wanted by hits that were taken off is
// forgotten.
func (f *flight) leave() {
	f.left = true
	if f.shed {
		f.ttl, f.deadline, f.forever = 0, time.Time{}, false
		for _, m := range f.members {
			f.heed(m)
		}
	}
}

// land notes for the members of a flight what became of them: the flight's total is
// the last member's, and each one before has what the next one has, less what that
// one added. A key that is still out is left to the carrier, which land gets if there is
// none yet, and returns.
func (c *Counters) land(f *flight, keep bool, next *carrier) *carrier {
	l := f.lineup
	s := l.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	total := f.sent.total
	for i, m := range slices.Backward(f.members) {
		if i < len(f.parts) {
			m.total, m.err = f.parts[i].of(f.parts[i].total, m)
		} else {
			m.total, m.err = f.sent.of(total, m)
			total -= m.by
		}
		m.flight = nil
	}
	l.owner, l.out = nil, nil
	if !keep && len(l.waiting) == 0 {
		c.dissolveLocked(l)
		return next
	}
	if next == nil {
		next = c.carriers.Get().(*carrier)
	}
	l.carrier = next
	next.lineups = append(next.lineups, l)
	return next
}
