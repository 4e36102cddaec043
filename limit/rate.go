package limit

import (
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
)

// A rate is how often a key is hit, in slow ticks of a lease.
type rate struct {
	tick        int64
	before, now int64 // calls in the tick before, and in this one
}

// hit notes a call. It returns how many there were in this tick, or in the one before if those were more,
// and how many there will be in the whole tick, if they go on to come as often.
func (r *rate) hit(at time.Duration) (calls, rate int64) {
	if tick := int64(at / lease.SlowTick); tick != r.tick {
		if r.before = r.now; tick != r.tick+1 {
			r.before = 0
		}
		r.tick, r.now = tick, 0
	}
	r.now++
	passed := max(at%lease.SlowTick, lease.SlowTick/16) // a burst says little
	return max(r.before, r.now), max(r.before, int64(float64(r.now)*float64(lease.SlowTick)/float64(passed)))
}
