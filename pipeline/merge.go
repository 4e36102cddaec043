package pipeline

import (
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/turns"
	"github.com/redislanes/redislanes/internal/wire"
)

// This file has the hits of several callers on one key travel as one INCRBY. The first hit that waits
// on a key starts a goroutine for the key. It takes all hits that wait, sends one INCRBY for them, tells
// them their totals, lets others run, and goes on until nothing waits.

// A stripe is the keys with some hashes.
type stripe struct {
	alone atomic.Int32 // hits on the keys that travel in their callers' pipelines
	mu    sync.Mutex   // guards what follows, those keys, and their waiters; never held across I/O
	keys  *mergedKey   // the first one on which hits wait
}

func (c *Counters) stripe(hash uint64) *stripe { return &c.stripes[hash%stripes] }

// admit reports whether a hit on the key travels in its caller's pipeline: the key does not merge, and
// fewer than so many hits of the stripe do.
func (s *stripe) admit(hash uint64, name string, most int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.findLocked(hash, name) != nil || s.alone.Load() >= most {
		return false
	}
	s.alone.Add(1)
	return true
}

func (s *stripe) findLocked(hash uint64, name string) *mergedKey {
	k := s.keys
	for k != nil && (k.hash != hash || k.name != name) {
		k = k.other
	}
	return k
}

func (s *stripe) removeLocked(k *mergedKey) {
	at := &s.keys
	for *at != k {
		at = &(*at).other
	}
	*at = k.other
}

// A waiter is a hit that waits on its key, in memory that outlives a caller that leaves. The lock of the
// stripe guards it.
type waiter struct {
	call   *hitCall
	stripe *stripe
	hit    *Hit // nil when it has ended, or its caller has left
	by     int64
	at     int  // its place in mergedKey.waiting
	out    bool // it travels
}

// A mergedKey is a key on which hits wait, and the goroutine that sends them. The stripe has it until no
// hit waits, or until another goroutine takes over the hits that wait.
type mergedKey struct {
	counters *Counters
	name     string
	hash     uint64
	other    *mergedKey // the next one of the stripe
	waiting  []*waiter
	sent     time.Time // when the INCRBY that is under way left; zero: none is
	gone     bool      // the stripe has it no more

	out []*waiter // that travel; owned by the goroutine, as is what follows
	p   *Pipeline
	run func()
}

func (k *mergedKey) stripe() *stripe { return k.counters.stripe(k.hash) }

// wait has the hit wait on its key.
func (c *Counters) wait(hash uint64, w *waiter) {
	w.call.Add()
	s := w.stripe
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.findLocked(hash, w.hit.Key)
	if k == nil {
		k = c.startLocked(s, hash, w.hit.Key, nil)
	}
	w.at = len(k.waiting)
	k.waiting = append(k.waiting, w)
}

// startLocked starts a goroutine for a key, with hits that wait on it.
func (c *Counters) startLocked(s *stripe, hash uint64, name string, waiting []*waiter) *mergedKey {
	k := c.keys.Get().(*mergedKey)
	k.hash, k.name, k.other, k.gone = hash, name, s.keys, false
	k.waiting = append(k.waiting, waiting...)
	s.keys = k
	c.inside.Stay()
	go k.run()
	return k
}

// deliver sends what waits on the key. The next INCRBY has a goroutine of its own, see wake.
func (k *mergedKey) deliver() {
	turns.Gather(k.waits)
	if x, until := k.take(); len(k.out) > 0 {
		k.send(x, until)
		k.wake(k.tell())
		return
	}
	k.end()
}

// waits returns how many hits wait.
func (k *mergedKey) waits() int {
	s := k.stripe()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(k.waiting)
}

// take takes the hits that wait and can travel as one INCRBY, which ends at the latest deadline, zero for none.
// If no hit waits, the stripe has the key no more.
func (k *mergedKey) take() (x count, until time.Time) {
	s := k.stripe()
	s.mu.Lock()
	defer s.mu.Unlock()
	endless, rest := false, k.waiting[:0]
	for _, w := range k.waiting {
		if !fits(x.by, w.by) {
			w.at = len(rest)
			rest = append(rest, w)
			continue
		}
		w.out = true
		k.out = append(k.out, w)
		x.by += w.by
		x.ttl = max(x.ttl, w.hit.TTL)
		if endless = endless || w.call.deadline.IsZero(); w.call.deadline.After(until) {
			until = w.call.deadline
		}
	}
	clear(k.waiting[len(rest):])
	k.waiting = rest
	if len(k.out) == 0 {
		s.removeLocked(k)
		return count{}, time.Time{}
	}
	k.sent = time.Now()
	if endless {
		until = time.Time{}
	}
	return x, until
}

// fits reports whether hits that add by can travel with hits that add sum. All have one sign: then no total in
// between overflows if the last one does not.
func fits(sum, by int64) bool {
	switch {
	case sum > 0:
		return by >= 0 && by <= math.MaxInt64-sum
	case sum < 0:
		return by <= 0 && by >= math.MinInt64-sum
	}
	return true
}

// send sends a count of the key until then, zero for as long as the Counters live.
func (k *mergedKey) send(x count, until time.Time) {
	c := k.counters
	x.key, x.belief = k.name, c.expiries.belief(k.hash, c.client.Owners(), x.ttl)
	ctx := c.life
	if !until.IsZero() {
		own := c.deadlines.Begin(ctx, until)
		defer c.deadlines.End(own)
		ctx = own
	}
	k.p.Reset()
	k.p.count(x, c.behind)
	_ = k.p.Do(ctx) // the count has its error
	c.expiries.learn(&k.p.counts[0])
}

// tell tells the hits that traveled: the count's total is that of the last one, and each one before it has what
// the next one has, less what that one added. It reports whether the goroutine still has the key.
func (k *mergedKey) tell() (goesOn bool) {
	s, x := k.stripe(), &k.p.counts[0]
	total := x.total
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range slices.Backward(k.out) {
		if h := w.hit; h != nil {
			h.Total, h.Err = x.of(total, h.TTL)
			w.hit = nil
		}
		total -= w.by
	}
	k.sent = time.Time{}
	return !k.gone
}

// wake wakes the callers whose hits traveled, and starts the next goroutine just before the last of them. Go runs
// the goroutine that became ready last first, so that the callers run before the next goroutine and their next
// hits travel with it. This is a matter of speed only.
func (k *mergedKey) wake(goesOn bool) {
	var last *hitCall
	for i, w := range k.out {
		if last != nil {
			last.Ended() // after which its hits may be used again
		}
		last, k.out[i] = w.call, nil
	}
	k.out = k.out[:0]
	if goesOn {
		go k.run()
	}
	last.Ended()
	if !goesOn {
		k.end()
	}
}

// end ends the goroutine.
func (k *mergedKey) end() {
	c := k.counters
	k.name, k.other = "", nil
	if k.p.Reset(); max(cap(k.waiting), cap(k.out)) <= wire.KeptCommands {
		c.keys.Put(k)
	}
	c.inside.Leave()
}

// leave ends the hit of a caller that leaves. If it waited for an INCRBY that has been under way for long, which
// may be on a silent connection, a new goroutine takes over the hits that wait.
func (c *Counters) leave(w *waiter, cause error) {
	s := w.stripe
	s.mu.Lock()
	defer s.mu.Unlock()
	h := w.hit
	if h == nil {
		return
	}
	w.hit = nil
	if w.out {
		h.fail(wire.Unknown("", cause))
		return
	}
	h.fail(wire.NotSent("", cause))
	k := s.findLocked(maphash.String(c.seed, h.Key), h.Key)
	last := k.waiting[len(k.waiting)-1]
	k.waiting[w.at], last.at = last, w.at
	k.waiting = slices.Delete(k.waiting, len(k.waiting)-1, len(k.waiting))
	if k.sent.IsZero() || time.Since(k.sent) < turns.LateAfter {
		return
	}
	k.gone = true
	if s.removeLocked(k); len(k.waiting) > 0 {
		c.startLocked(s, k.hash, k.name, k.waiting)
	}
	clear(k.waiting)
	k.waiting = k.waiting[:0]
}
