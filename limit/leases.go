package limit

import (
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
)

// leases has the hits that a limiter has reserved, by key. Only keys that are hit often have a
// lease; of the others, a call notes one number.
type leases struct {
	rates   *lease.Rates
	epoch   time.Time
	seed    maphash.Seed
	n       atomic.Int64 // how many there are
	closed  atomic.Bool
	tending atomic.Bool // a goroutine looks after them
	shards  [leaseShards]leaseShard

	mu     sync.Mutex
	unsent []*refill // those of all keys; some are over
}

type leaseShard struct {
	mu   sync.RWMutex
	keys map[leaseKey]*keyLease
}

type leaseKey struct {
	limit *Limit
	key   string
}

// A keyLease is the lease of a key, in one window after the other.
type keyLease struct {
	limit *Limit
	key   string

	mu sync.Mutex
	lease.Lease
	line   *lease.Line // of a token bucket
	number int64       // of the window
	over   bool        // it is in no shard any more

	returning int           // returns that are under way
	settled   chan struct{} // closed when they have ended; nil if there are none
	returned  int64         // those that have ended

	unsent   *refill       // the next look at the leases sends it
	refilled chan struct{} // closed when the refill that is under way in the window has ended
}

func newLeases() *leases {
	s := &leases{epoch: time.Now(), seed: maphash.MakeSeed(), rates: lease.NewRates(rateSlots)}
	for i := range s.shards {
		s.shards[i].keys = make(map[leaseKey]*keyLease)
	}
	return s
}

// of notes a call, and returns the lease of the key, or nil if it is not hit often enough.
func (s *leases) of(limit *Limit, key string, now time.Time) *keyLease {
	hash := maphash.String(s.seed, key) ^ limit.salt
	at := now.Sub(s.epoch)
	calls, rate := s.rates.Hit(hash, at)
	if calls < lease.Fewest || len(key) > longKey {
		return nil
	}
	shard, k := s.shard(hash), leaseKey{limit, key}
	if known := shard.get(k); known != nil || s.n.Load() >= mostLeases {
		return known
	}
	shard.mu.Lock()
	defer shard.mu.Unlock()
	known := shard.keys[k]
	if known == nil && !s.closed.Load() {
		known = &keyLease{limit: limit, key: key, number: -1 << 63}
		known.Begin(int64(rate), at)
		if limit.rule.Algorithm == TokenBucket {
			known.line = lease.NewLine(limit.rule.perToken())
		}
		shard.keys[k] = known
		s.n.Add(1)
	}
	return known
}

func (s *leases) find(limit *Limit, key string) *keyLease {
	if s.n.Load() == 0 || len(key) > longKey {
		return nil
	}
	return s.shard(maphash.String(s.seed, key) ^ limit.salt).get(leaseKey{limit, key})
}

func (s *leases) shard(hash uint64) *leaseShard { return &s.shards[hash>>32%leaseShards] }

func (s *leaseShard) get(k leaseKey) *keyLease {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.keys[k]
}

// leased reports whether the lease of the key has decided. If the call looks first, the lease
// has only to have enough.
func (a *ask) leased(l *Limiter, c *call, d *Decision) bool {
	if !a.look {
		return a.take(l, c, d)
	}
	k := l.leases.find(a.limit, a.place.key)
	return k != nil && k.leftIn(a.number()) >= a.cost
}

// take has the lease decide about the ask. It reports whether the lease had enough hits. If
// not, the call asks Redis, or waits for a refill of tokens.
func (a *ask) take(l *Limiter, c *call, d *Decision) bool {
	k := l.leases.of(a.limit, a.place.key, c.at)
	if k == nil {
		return false
	}
	l.tend()
	a.lease = k
	k.mu.Lock()
	at := c.at.Sub(l.leases.epoch)
	unused := k.roll(a.number(), at)
	var refilled chan struct{}
	if k.number == a.number() && !k.over {
		a.fills, a.returned = k.Fills(), k.returned
		if now := a.takeOne(l, d, at); now != nil {
			c.refills = append(c.refills, now)
		}
		refilled = k.refilled
	}
	a.taken(d)
	k.mu.Unlock()
	l.tellSome(k.limit, hitsUnused, unused)
	switch {
	case d.Leased:
		a.allow(d)
		c.yields = c.yields || refilled != nil
	case k.line != nil:
		a.refilled = refilled
	}
	return d.Leased
}

// takeOne takes the hits from the lease, which is locked, if it has enough. It returns a refill that is to
// be sent now, or nil.
func (a *ask) takeOne(l *Limiter, d *Decision, at time.Duration) (now *refill) {
	k, n := a.lease, int64(0)
	d.Leased, n = k.Take(a.cost, at, k.limit.ends(a.window))
	switch {
	case n > 0:
		now = &refill{lease: k, window: a.window, n: n, lasts: k.Lasts(n)}
		if now.mayWait(d.Leased) {
			k.unsent = now
			l.leases.keep(now)
			return nil
		}
	case d.Leased || k.unsent == nil || a.cost > k.Left()+k.unsent.n:
		return nil
	default: // the hit would have been decided with what was not sent
		now = k.unsent
	}
	k.begins(now)
	return now
}

// allow fills in the decision of a lease.
func (a *ask) allow(d *Decision) {
	a.counted, d.Leased, d.Allowed, d.ResetAfter = true, true, true, a.resetAfter()
	if a.limit.rule.Algorithm == TokenBucket {
		d.ResetAfter = time.Duration(float64(a.limit.rule.burst()-d.Remaining) * a.limit.rule.perToken())
	}
}

// taken notes what the lease has given, under its lock.
func (a *ask) taken(d *Decision) {
	if !d.Leased {
		return
	}
	if a.lease.line != nil {
		a.tokens = a.lease.line.Take(a.cost)
		d.from = a.tokens.From
	}
	d.Remaining = min(a.lease.Free(), a.limit.rule.burst()) // what is known may be old
}

// roll begins a later window. It returns how many hits nobody has used in the one before, or
// how many tokens have flowed in meanwhile.
func (k *keyLease) roll(number int64, at time.Duration) (unused int64) {
	if number > k.number {
		unused, k.number, k.unsent = k.Next(k.limit.rule.burst()), number, nil
	}
	gone := k.line.Expire(at)
	k.Lose(gone)
	return unused + gone
}

// A stopped lease had some hits that nobody has used.
type stopped struct {
	*keyLease
	unused int64
}

// stop ends the leases on the key, of all limits that share their counts with the one that is reset: what
// they have is not counted any more. What a refill that is under way brings is of no window of theirs. The
// leases stay, so that the key gets no others, unless they are dropped.
func (s *leases) stop(shares func(*Limit) bool, key string, drop bool) (all []stopped) {
	for i := range s.shards {
		shard := &s.shards[i]
		shard.mu.Lock()
		for name, k := range shard.keys {
			if name.key == key && shares(name.limit) {
				k.mu.Lock()
				left := k.Left()
				k.Lose(left)
				k.line.Drop(left)
				k.over, k.number, k.unsent = true, math.MaxInt64, nil
				k.mu.Unlock()
				if all = append(all, stopped{k, left}); drop {
					delete(shard.keys, name)
					s.n.Add(-1)
				}
			}
		}
		shard.mu.Unlock()
	}
	return all
}

// giveBack puts the hits of a denied call back into the lease. It reports false if the lease has ended.
func (k *keyLease) giveBack(a *ask) (ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.number != a.number() || k.over {
		return false
	}
	k.Give(a.cost)
	k.line.Give(a.tokens)
	return true
}

// learn notes how many hits Redis could still grant. It returns how many are free, with those
// of the lease.
func (k *keyLease) learn(number, free, fills int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.number != number {
		return free
	}
	k.Learn(free, fills)
	return k.Free()
}

func (k *keyLease) leftIn(number int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.number != number {
		return 0
	}
	return k.Left()
}

// tend has a goroutine look after the leases, until there are none: it returns hits that nobody uses, and
// sends refills that could wait. The caller is inside.
func (l *Limiter) tend() {
	if l.leases.tending.Load() || !l.leases.tending.CompareAndSwap(false, true) {
		return
	}
	l.inside.Stay()
	go func() {
		defer l.inside.Leave()
		tick := time.NewTicker(lease.Tick)
		defer tick.Stop()
		for next := 0; l.leases.n.Load() > 0; {
			select {
			case <-tick.C:
				next = l.leases.idle(l, next, time.Now())
				l.sendUnsent()
			case <-l.backlog.closed:
				l.leases.closed.Store(true)
				l.leases.idle(l, 0, time.Now())
				return
			}
		}
		l.leases.tending.Store(false)
		if l.leases.n.Load() > 0 { // one that was made meanwhile
			l.tend()
		}
	}()
}

// idle looks at leases from a shard on, and returns the hits that nobody uses. If there are many
// leases, it looks at some of them, and returns the shard to go on with. Once the limiter is
// closed, it looks at all, and no lease is left.
func (s *leases) idle(l *Limiter, from int, now time.Time) (next int) {
	var back, unused []owed
	shards := leaseShards
	if n := int(s.n.Load()); n > seenAtOnce && !s.closed.Load() {
		shards = max(1, leaseShards*seenAtOnce/n)
	}
	for i := range shards {
		back, unused = s.idleIn(&s.shards[(from+i)%leaseShards], l, now, back, unused)
	}
	for _, o := range unused {
		l.tell(o.of, hitsUnused, o.cost)
	}
	l.handBack(back)
	return (from + shards) % leaseShards
}

// idleIn appends what the leases of a shard return, and what is lost because its window has ended.
func (s *leases) idleIn(shard *leaseShard, l *Limiter, now time.Time, back, unused []owed) (_, _ []owed) {
	at := now.Sub(s.epoch)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for name, k := range shard.keys {
		w := l.windowAt(now, k.limit.rule.Window)
		k.mu.Lock()
		if k.over { // it was stopped
			k.mu.Unlock()
			continue
		}
		if lost := k.roll(k.limit.number(w), at); lost > 0 {
			unused = append(unused, owed{of: k.limit, cost: lost})
		}
		if k.number != k.limit.number(w) { // a call has begun the next window meanwhile, or the clock has stepped back
			w.number, w.elapsed = k.number, 0
		}
		surplus, over := k.Idle(at)
		if over = over || s.closed.Load(); over {
			surplus += k.Left()
			k.Lose(k.Left())
		}
		if over && (surplus == 0 && k.returning == 0 || s.closed.Load()) { // looks have to know of a return
			k.over, k.unsent = true, nil
			delete(shard.keys, name)
			s.n.Add(-1)
		}
		back = k.appendOwed(back, l, w, surplus)
		k.mu.Unlock()
	}
	return back, unused
}
