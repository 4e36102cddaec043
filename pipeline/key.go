package pipeline

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/slots"
)

// A fullKey is a key in two parts, so that one which begins like many others need not
// be put together before it is on its way. Different fullKeys may name one key.
type fullKey struct{ prefix, key string }

func (k fullKey) String() string { return k.prefix + k.key }

func (k fullKey) slot() uint16 {
	if k.prefix == "" {
		return slots.Of(k.key)
	}
	return slots.OfParts(k.prefix, k.key)
}

func (k fullKey) hash(seed maphash.Seed) uint64 {
	h := maphash.String(seed, k.key)
	if k.prefix != "" {
		h = bits.RotateLeft64(h, 1) ^ maphash.String(seed, k.prefix)
	}
	return h
}

// A key is a key that is being counted. It leaves its shard when no sum of it is under way
// and none waits.
type key struct {
	name    fullKey
	hash    uint64
	slot    uint16
	shard   *counterShard
	other   *key      // the next one of the shard's chain
	out     []*sum    // under way
	waiting []*sum    // each in its turn
	next    *delivery // lets hits gather and takes the first that waits; nil: none does
	merged  bool      // a sum is under way that had waited and is not late: the next one leaves when it has ended
}

// join puts each hit on a sum: one of this call's own, which leaves at once, or one that
// waits because others count the key.
func (c *Counters) join(call *hitCall, hits []Hit) {
	for i := range hits {
		h := &call.hits[i]
		name := fullKey{hits[i].Prefix, hits[i].Key}
		hash := name.hash(c.seed)
		s := c.shard(hash)
		*h = hit{call: call, shard: uint32(hash % counterShards), by: hits[i].By, ttl: hits[i].TTL}
		s.mu.Lock()
		k := s.findLocked(name, hash)
		if k == nil {
			k = c.addLocked(s, name, hash)
		}
		switch own, free := k.ownLocked(call, h.by); {
		case own != nil:
			own.add(h)
			k.unsureLocked(own)
		case free:
			own = call.newSum(k)
			own.add(h)
			k.leaveLocked(own)
		default:
			c.waitLocked(k, h)
		}
		s.mu.Unlock()
	}
}

// ownLocked returns the sum of the call that takes one more hit, or whether the call may
// have one more.
func (k *key) ownLocked(call *hitCall, by int64) (own *sum, free bool) {
	free = k.next == nil && len(k.waiting) == 0 && len(k.out) < mostBeside
	for _, s := range k.out {
		if s.delivery == &call.delivery && s.takes(by) {
			return s, false
		}
		free = free && (len(s.hits) == 1 || s.late)
	}
	return nil, free
}

// waitLocked has the hit wait, unless the key's node is down or suspect and the call
// would not wait for it if it sent the hit by itself: the sum that is under way may be so
// until its connection is given up.
func (c *Counters) waitLocked(k *key, h *hit) {
	if err := c.client.Hopeless("INCRBY", k.slot, h.call.deadline); err != nil {
		h.err = err
		return
	}
	h.call.pending.Add(1)
	if n := len(k.waiting); n == 0 || !k.waiting[n-1].takes(h.by) {
		k.waiting = append(k.waiting, c.sums.Get().(*sum).begin(k, nil))
	}
	k.waiting[len(k.waiting)-1].add(h)
	if k.next != nil {
		k.next.gathered.Add(1)
	}
	k.hurryLocked()
}

// hurryLocked has the deliveries that are under way tell of the key when its node has
// replied: somebody waits behind it.
func (k *key) hurryLocked() {
	for _, s := range k.out {
		s.delivery.p.list.Request.Early()
	}
}

func (k *key) leaveLocked(s *sum) {
	k.out = append(k.out, s)
	k.unsureLocked(s)
}

// takeLocked returns the first sum that a hit is left on, for the delivery to take now; nil if there
// is none.
func (k *key) takeLocked(d *delivery, now time.Time) *sum {
	k.next = nil
	at := slices.IndexFunc(k.waiting, func(s *sum) bool { return len(s.hits) > 0 })
	if at < 0 {
		clear(k.waiting)
		k.waiting = k.waiting[:0]
		return nil
	}
	s := k.waiting[at]
	k.waiting = slices.Delete(k.waiting, 0, at+1)
	s.settle(d)
	s.left = now
	k.merged = true
	k.leaveLocked(s)
	if len(k.waiting) > 0 {
		k.hurryLocked()
	}
	return s
}

// unsureLocked notes of the sum, and of those that are under way beside it, that
// the key may lose the time to live that it is known to have: one that gives it none
// may create it anew.
func (k *key) unsureLocked(s *sum) {
	for _, beside := range k.out {
		switch gives, besideGives := s.ttl > 0, beside.ttl > 0; {
		case gives && !besideGives:
			s.unsure.Store(true)
		case besideGives && !gives:
			beside.unsure.Store(true)
		}
	}
}

// landLocked takes off a sum that has ended. If hits wait, or may gather behind a sum that
// had waited, it notes the key for the next delivery.
func (c *Counters) landLocked(s *sum, next *delivery) *delivery {
	k := s.key
	at := slices.Index(k.out, s)
	k.out = slices.Delete(k.out, at, at+1)
	merged := s.delivery.merged && !s.late
	k.merged = k.merged && !merged
	switch {
	case k.next != nil || k.merged:
	case merged || len(k.waiting) > 0:
		return c.nextLocked(k, next)
	case len(k.out) == 0:
		c.removeLocked(k)
	}
	return next
}

// passLocked notes that a hit on the key has waited until its deadline. Sums that have been under way for
// long are late then, since their connection may be silent, and other hits pass them. If some wait, passLocked
// notes the key for the next delivery.
func (c *Counters) passLocked(k *key, next *delivery) *delivery {
	if k.next != nil {
		return next
	}
	now := time.Now()
	k.merged = false
	for _, s := range k.out {
		s.late = s.late || now.Sub(s.left) >= lateAfter
		k.merged = k.merged || s.delivery.merged && !s.late
	}
	switch {
	case k.merged || len(k.out) >= mostBeside:
		return next
	case slices.ContainsFunc(k.waiting, func(s *sum) bool { return len(s.hits) > 0 }):
		return c.nextLocked(k, next)
	}
	clear(k.waiting)
	k.waiting = k.waiting[:0]
	return next
}

// nextLocked has the next delivery take the key's first sum that waits. It makes the delivery if there is none.
func (c *Counters) nextLocked(k *key, next *delivery) *delivery {
	if next == nil {
		next = c.newDelivery()
	}
	k.next = next
	next.keys = append(next.keys, k)
	return next
}
