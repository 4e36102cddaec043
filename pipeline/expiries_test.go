package pipeline

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExpiriesModel: what is remembered was noted, not forgotten since, and not for
// longer than it may be.
func TestExpiriesModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &expiries{began: time.Now()}
		random := rand.New(rand.NewPCG(1, 2))
		all := make([]fingerprint, 200)
		for i := range all { // in few buckets, so that they displace each other
			all[i] = fingerprint(random.Uint32())<<32 | fingerprint(random.IntN(4))
		}
		model := make(map[fingerprint]time.Time)
		found := 0
		for range 100_000 {
			m := all[random.IntN(len(all))]
			switch random.IntN(4) {
			case 0:
				ttl := time.Duration(random.Int64N(int64(3 * time.Minute)))
				e.keep(m, e.now(), ticks(ttl))
				model[m] = time.Now().Add(min(ttl/2, 10*time.Second))
			case 1:
				e.forget(m)
				delete(model, m)
			case 2:
				time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
			case 3:
				if e.believed(m, e.now()) {
					found++
					require.True(t, time.Now().Before(model[m]))
				}
			}
		}
		require.Positive(t, found)
	})
}

// TestExpiriesRoom: many keys are remembered at a time, each for half of the time that it has
// left, or ten seconds.
func TestExpiriesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &expiries{began: time.Now()}
		const keys = 30_000
		known := func(seed uint64) (n int) {
			random := rand.New(rand.NewPCG(seed, 0))
			for range keys {
				if e.believed(fingerprint(random.Uint64()), e.now()) {
					n++
				}
			}
			return n
		}
		for seed, ttl := range []time.Duration{20 * time.Millisecond, 8 * time.Second, time.Hour} {
			random := rand.New(rand.NewPCG(uint64(seed), 0))
			for range keys {
				e.keep(fingerprint(random.Uint64()), e.now(), ticks(ttl))
			}
			lasts := min(ttl/2, 10*time.Second)
			time.Sleep(lasts - time.Nanosecond)
			require.Greater(t, known(uint64(seed)), keys*98/100, ttl)
			time.Sleep(time.Nanosecond)
			require.Zero(t, known(uint64(seed)), ttl)
		}
		e.keep(1, e.now(), ticks(19*time.Millisecond))
		require.False(t, e.believed(1, e.now()), "too short a time to be remembered")
	})
}
