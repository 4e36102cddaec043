package lease

import (
	"sync/atomic"
	"time"
)

// Rates estimates how often keys are hit, without a lock and without memory for each key: keys
// share counters by their hash. An estimate may be too high, and then a key has a lease that
// it would not need. Make it with [NewRates]. All methods are safe for concurrent use.
type Rates struct {
	slots []atomic.Uint64 // the tick, and the hits in it
	epoch time.Time
}

// Tick is how long hits are added up.
const Tick = 20 * time.Millisecond

// NewRates returns rates with so many counters, a power of two.
func NewRates(slots int, epoch time.Time) *Rates {
	return &Rates{slots: make([]atomic.Uint64, slots), epoch: epoch}
}

// Hit notes hits on the key that has the hash, and returns how many there were in this tick.
func (r *Rates) Hit(hash uint64, now time.Time, n int64) int64 {
	slot, tick := &r.slots[hash&uint64(len(r.slots)-1)], uint64(now.Sub(r.epoch)/Tick)&(1<<32-1)
	for {
		old := slot.Load()
		sum := min(uint64(n), 1<<31)
		if old>>32 == tick {
			sum = min(sum+old&(1<<32-1), 1<<31)
		}
		if slot.CompareAndSwap(old, tick<<32|sum) {
			return int64(sum)
		}
	}
}
