package lease

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRates: hits in a tick, by key, from many goroutines.
func TestRates(t *testing.T) {
	began := time.Now()
	r := NewRates(1<<8, began)
	require.EqualValues(t, 1, r.Hit(1, began, 1))
	require.EqualValues(t, 4, r.Hit(1, began, 3))
	require.EqualValues(t, 1, r.Hit(2, began, 1))
	require.EqualValues(t, 5, r.Hit(1+1<<8, began, 1), "it shares the counter")
	require.EqualValues(t, 2, r.Hit(1, began.Add(Tick), 2))
	require.EqualValues(t, 1<<31, r.Hit(1, began.Add(Tick), 1<<62))
}

// TestNeverMoreThanGranted: processes with random demand share a limit, some of which lose
// their hits or end. Never more is handed out than the limit, and all of it where demand is
// spread evenly.
func TestNeverMoreThanGranted(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		limit, counted := []int64{1, 10, 1000, 100_000}[seed%4], int64(0)
		leases := make([]Lease, 1+r.IntN(10))
		for i := range leases {
			leases[i].free = limit
		}
		used, commands, decisions := int64(0), 0, 0
		grant := func(least, most int64) (got int64) { // as Redis does
			commands++
			if got = min(most, limit-counted); got < least {
				return 0
			}
			counted += got
			return got
		}
		demand := int(3 * limit)
		for step := range demand {
			l := &leases[r.IntN(len(leases))]
			at := time.Duration(step) * time.Second / time.Duration(demand)
			decisions++
			taken, more := l.Take(1, at)
			if more {
				want := l.Wants()
				l.Grant(want, grant(1, want), limit-counted)
			}
			if taken == 0 && limit > counted {
				taken = grant(1, 1)
			}
			used += taken
			if step%50 == 0 {
				for i := range leases {
					surplus, _ := leases[i].Idle(at)
					counted -= surplus
				}
			}
			require.LessOrEqual(t, used, limit)
			require.LessOrEqual(t, counted, limit)
		}
		require.GreaterOrEqual(t, float64(used), 0.99*float64(limit), "seed %d, %d processes", seed, len(leases))
		if limit == 100_000 {
			require.Less(t, float64(commands)/float64(decisions), 0.03, "seed %d", seed)
		}
	}
}
