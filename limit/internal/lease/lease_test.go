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
		ask := func(l *Lease, least int64) bool { // as Redis does
			most := least + l.Wants()
			got := min(most, limit-counted)
			if got < least {
				l.Grant(most-least, 0, limit-counted)
				return false
			}
			counted += got
			commands++
			l.Grant(most-least, got-least, limit-counted)
			return true
		}
		demand := int(3 * limit)
		for step := range demand {
			l := &leases[r.IntN(len(leases))]
			at := time.Duration(step) * time.Second / time.Duration(demand)
			decisions++
			taken, more := l.Take(1, at)
			switch {
			case taken && more:
				ask(l, 0)
			case !taken:
				taken = ask(l, 1)
			}
			if taken {
				used++
			}
			if step%50 == 0 {
				for i := range leases {
					counted -= leases[i].Idle(at)
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
