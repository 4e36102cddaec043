package pipeline

import (
	"sync/atomic"
	"time"
)

// expiries remembers which keys have their time to live, so that a hit on one of them
// need not send EXPIRE NX again: half of the commands of a steady load.
//
// It may be wrong, since a key may be deleted, evicted, or lost with its node. So a
// count without EXPIRE is followed by one if its total says that there was no key, if
// its outcome is unknown, if the slot has moved meanwhile, or if a hit that gives the key
// no time to live was under way with it; and nothing is remembered for long, in case
// someone else's EXPIRE is what got lost. Two keys that look the same
// here do no harm either, for the same reasons.
type expiries struct {
	buckets [1 << 13]expiryBucket // first, so that each is on a cache line of its own
	began   time.Time
}

// An expiryBucket is a cache line of keys: 32 bits of a mark, and when it is forgotten.
type expiryBucket [8]atomic.Uint64

const (
	mostRemembered = 10 * time.Second // that a key has its time to live
	rememberedPart = 8                // of the time to live, if that is less

	expiryTick = 10 * time.Millisecond
)

// A mark is a key, by its hash, under one version of the slots' owners: nothing is
// believed of a new primary, to which the EXPIRE may not have been replicated.
type mark uint64

func markOf(hash, owners uint64) mark {
	const golden = 0x9e3779b97f4a7c15 // all bits of the mark differ between two versions
	return mark(hash ^ owners*golden)
}

func (e *expiries) bucket(m mark) *expiryBucket { return &e.buckets[m%mark(len(e.buckets))] }

// now returns the time in ticks, which begin anew after 497 days.
func (e *expiries) now() uint32 { return uint32(time.Since(e.began) / expiryTick) }

// has reports whether the key is known to have its time to live.
func (e *expiries) has(m mark, now uint32) bool {
	for i := range e.bucket(m) {
		if entry := e.bucket(m)[i].Load(); entry>>32 == uint64(m>>32) {
			return int32(uint32(entry)-now) > 0
		}
	}
	return false
}

// keep notes that EXPIRE was acknowledged, which was sent at that time. It takes the
// place of what is forgotten first.
func (e *expiries) keep(m mark, now uint32, ttl time.Duration) {
	until := now + uint32(min(ttl/rememberedPart, mostRemembered)/expiryTick)
	if until == now {
		return
	}
	b := e.bucket(m)
	at := 0
	for i := range b {
		entry := b[i].Load()
		if entry>>32 == uint64(m>>32) {
			at = i
			break
		}
		if int32(uint32(entry)-uint32(b[at].Load())) < 0 {
			at = i
		}
	}
	b[at].Store(uint64(m>>32)<<32 | uint64(until))
}

// forget notes that the key may have no time to live.
func (e *expiries) forget(m mark) {
	b := e.bucket(m)
	for i := range b {
		if entry := b[i].Load(); entry>>32 == uint64(m>>32) {
			b[i].CompareAndSwap(entry, 0)
		}
	}
}

// mayLackExpiry reports whether a key that was known to have its time to live, and may
// have been counted, may be without one after all.
func (c *Counters) mayLackExpiry(f *flight) bool {
	return f.outcome.err != nil || f.outcome.total == f.sum || markOf(f.lineup.hash, c.client.Owners()) != f.mark || f.doubted.Load()
}

// learnExpiry notes what a flight tells about its key's time to live. Nothing is known
// of a key at 0, which looks to a hit that adds nothing like one that is not there.
func (c *Counters) learnExpiry(f *flight) {
	switch {
	case c.expiries == nil:
	case f.late, f.outcome.err != nil, f.outcome.expiryErr != nil, f.outcome.total == 0:
		c.expiries.forget(f.mark)
	case f.ttl > 0 && !f.sent.known && !f.doubted.Load():
		c.expiries.keep(f.mark, f.at, f.ttl)
	case f.ttl <= 0 && f.outcome.total == f.sum: // a key that nobody has given one
		c.expiries.forget(f.mark)
	}
}
