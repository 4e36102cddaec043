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
// its outcome is unknown, or if the slot has moved. Two keys that look the same here do no
// harm, for the same reasons.
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

// believed reports whether it is believed that the key has its time to live.
func (e *expiries) believed(f fingerprint, now uint32) bool {
	b := e.bucket(f)
	for i := range b {
		if entry := b[i].Load(); entry>>32 == uint64(f>>32) {
			return ticksLeft(entry, now) > 0
		}
	}
	return false
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

// A belief is what was believed of a key when its INCRBY left. The zero belief knows nothing.
type belief struct {
	hash, owners uint64
	at           uint32 // when it left, by expiries.now
	known        bool   // the key has its time to live, as far as is known
}

// belief returns what is believed of a key, for a count that gives it a time to live if ttl is
// positive.
func (e *expiries) belief(hash, owners uint64, ttl time.Duration) belief {
	b := belief{hash: hash, owners: owners, at: e.now()}
	b.known = ttl > 0 && e.believed(fingerprintOf(hash, owners), b.at)
	return b
}

// learn notes what a count tells about its key's time to live. A key that is known is not noted again:
// to do so with each hit took 5 % of the time of a hit. Nothing is known of a key at 0, which looks to
// a hit that adds nothing like one that is not there.
func (e *expiries) learn(x *count) {
	f := fingerprintOf(x.hash, x.owners)
	switch {
	case x.total == 0, x.expiry != nil: // the total is 0 also if the hit failed
		e.forget(f)
	case x.left > 0 && !x.known:
		e.keep(f, x.at, ticks(x.left))
	case x.left < 0, x.ttl <= 0 && x.looksNew(): // it is gone, or nobody has given it a time to live
		e.forget(f)
	}
}
