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
