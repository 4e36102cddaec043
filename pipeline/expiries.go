package pipeline

import (
	"sync/atomic"
	"time"
)

// expiries remembers which keys have their time to live, so that a hit on one of them needs
// no SET in front of INCRBY and no PTTL behind it.
//
// It may be wrong, since others may delete a key or take its time to live, and a server may
// lose it. So a key is believed in for half of the time that it has left, and ten seconds at
// most. A hit asks for its time to live again if the total says that the key was not there, if
// its outcome is unknown, if the slot has moved, or if a hit that gives the key no time to
// live was under way with it. Two keys that look the same here do no harm, for the same
// reasons.
type expiries struct {
	buckets [expiryBuckets]expiryBucket // first, so that each is on a cache line of its own
	began   time.Time
}

// An expiryBucket is a cache line of keys: 32 bits of a fingerprint, and when it is forgotten.
type expiryBucket [8]atomic.Uint64

// A fingerprint is a key, by its hash, under one version of the slots' owners: nothing is
// believed of a new primary, to which the EXPIRE may not have been replicated.
type fingerprint uint64

func fingerprintOf(hash, owners uint64) fingerprint {
	const golden = 0x9e3779b97f4a7c15 // all bits of the fingerprint differ between two versions
	return fingerprint(hash ^ owners*golden)
}

func (e *expiries) bucket(f fingerprint) *expiryBucket {
	return &e.buckets[f%fingerprint(len(e.buckets))]
}

// now returns the time in ticks, a count that overflows after 497 days. An entry is believed only
// if it ends within the longest time for which a key is remembered, so an old one is not believed
// again.
func (e *expiries) now() uint32 { return uint32(time.Since(e.began) / expiryTick) }

// ticksLeft returns for how many ticks more the entry is believed.
func ticksLeft(entry uint64, now uint32) uint32 {
	if left := uint32(entry) - now; left <= uint32(mostRemembered/expiryTick) {
		return left
	}
	return 0
}

// believed returns for how many ticks more it is believed that the key has its time to live.
func (e *expiries) believed(f fingerprint, now uint32) uint32 {
	b := e.bucket(f)
	for i := range b {
		if entry := b[i].Load(); entry>>32 == uint64(f>>32) {
			return ticksLeft(entry, now)
		}
	}
	return 0
}

// ticks returns for how many ticks it is believed that a key with so much time left has its time to live.
func ticks(left time.Duration) uint32 {
	return uint32(min(left/rememberedPart, mostRemembered) / expiryTick)
}

// keep notes for how many ticks it is believed that the key has its time to live. It takes the
// place of what is forgotten first.
func (e *expiries) keep(f fingerprint, now, ticks uint32) {
	if ticks == 0 {
		e.forget(f)
		return
	}
	b := e.bucket(f)
	at := 0
	for i := range b {
		entry := b[i].Load()
		if entry>>32 == uint64(f>>32) {
			at = i
			break
		}
		if ticksLeft(entry, now) < ticksLeft(b[at].Load(), now) {
			at = i
		}
	}
	b[at].Store(uint64(f>>32)<<32 | uint64(now+ticks))
}

// forget notes that the key may have no time to live.
func (e *expiries) forget(f fingerprint) {
	b := e.bucket(f)
	for i := range b {
		if entry := b[i].Load(); entry>>32 == uint64(f>>32) {
			b[i].CompareAndSwap(entry, 0)
		}
	}
}

// unsure reports whether a key that was known to have its time to live when the sum left
// may have lost it.
func (c *Counters) unsure(s *sum) bool {
	return s.sent.known && (fingerprintOf(s.key.hash, c.client.Owners()) != s.fingerprint || s.unsure.Load())
}

// learnExpiry notes what a sum tells about its key's time to live. Nothing is known
// of a key at 0, which looks to a hit that adds nothing like one that is not there.
func (c *Counters) learnExpiry(s *sum) {
	switch x := &s.sent; {
	case x.total == 0, x.expiry != nil: // the total is 0 also if the hit failed
		c.expiries.forget(s.fingerprint)
	case x.left > 0 && !s.unsure.Load():
		c.remember(s, ticks(x.left))
	case x.left < 0, x.ttl <= 0 && x.looksNew(): // it is gone, or nobody has given it a time to live
		c.expiries.forget(s.fingerprint)
	}
}

// remember notes for how many ticks the sum's key is believed in. It notes nothing for a key that is believed
// in for no longer already: to do so with each hit took 5 % of the time of a hit.
func (c *Counters) remember(s *sum, ticks uint32) {
	if s.believed == 0 || ticks < s.believed {
		c.expiries.keep(s.fingerprint, s.at, ticks)
	}
}
