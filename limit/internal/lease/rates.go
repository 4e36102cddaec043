package lease

import (
	"sync/atomic"
	"time"
)

// Rates estimates how often keys are hit, without a lock and without memory for each key: keys
// share counters by their hash. An estimate may be too high, and then a key has a lease that
// it does not need. Make it with [NewRates]. All methods are safe for concurrent use.
type Rates struct {
	slots []atomic.Uint64 // 32 bits of the tick, 16 of the calls in the tick before, and 16 of those in it
}

// atMost is how many calls are counted in a tick.
const atMost = 1<<16 - 1

// NewRates returns rates with so many counters, a power of two.
func NewRates(slots int) *Rates { return &Rates{slots: make([]atomic.Uint64, slots)} }

// Hit notes a call for the key that has the hash. It returns how many there were in this slow
// tick, or in the one before if those were more, counted up to 65,535. rate is how many there
// will be in the whole tick, if they go on to come as often.
func (r *Rates) Hit(hash uint64, at time.Duration) (calls, rate uint64) {
	slot, tick := &r.slots[hash&uint64(len(r.slots)-1)], uint64(at/SlowTick)&(1<<32-1)
	for {
		old := slot.Load()
		before, now := callsIn(old, tick)
		now = min(now+1, atMost)
		if slot.CompareAndSwap(old, tick<<32|before<<16|now) {
			passed := max(at%SlowTick, SlowTick/16) // a burst says little
			return max(before, now), max(before, now*uint64(SlowTick)/uint64(passed))
		}
	}
}

// callsIn returns how many calls a counter has noted in the tick before, and in the tick.
func callsIn(slot, tick uint64) (before, now uint64) {
	switch slot >> 32 {
	case tick:
		return slot >> 16 & atMost, slot & atMost
	case (tick - 1) & (1<<32 - 1):
		return slot & atMost, 0
	default:
		return 0, 0
	}
}
