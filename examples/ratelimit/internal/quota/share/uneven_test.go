package share_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/race"
)

// TestUneven: whatever each client needs, and however that changes, at least 98 % of the limit is used if
// the clients need more. No client is short while another has more than it uses, but for the hit
// that a share is rounded to.
func TestUneven(t *testing.T) {
	t.Parallel()
	for seed := range uint64(race.Rounds(15, 6)) {
		w := newWorld(t, seed, []int64{200, 1000, 5000}[seed%3])
		for range 2 + w.rng.IntN(int(w.capacity)/100-1) {
			w.join(0)
		}
		for range 3 {
			for _, c := range w.clients {
				if w.rng.IntN(2) == 0 {
					c.demand = w.demand()
				}
			}
			w.clients[0].demand += max(0, float64(w.capacity)-sum(w.clients)) // more than the limit in all
			w.run(40 * time.Second)
			w.fair(20 * time.Second)
		}
	}
}

// demand returns none, few hits or many.
func (w *world) demand() float64 {
	if w.rng.IntN(8) == 0 {
		return 0
	}
	return float64(w.capacity) / float64(len(w.clients)) * math.Pow(100, w.rng.Float64()-0.5)
}

func sum(clients []*client) (sum float64) {
	for _, c := range clients {
		sum += c.demand
	}
	return sum
}

// fair requires that in a time shares let 98 % of the limit through, and whose hits they should.
func (w *world) fair(d time.Duration) {
	w.t.Helper()
	got := make([]float64, len(w.clients))
	for end := w.now.Add(d); w.now.Before(end); {
		w.run(step)
		for i, c := range w.clients {
			got[i] += min(c.demand, float64(c.share)) * step.Seconds() / d.Seconds()
		}
	}
	left, used := 0.98*float64(w.capacity), 0.0
	all := slices.SortedFunc(slices.Values(w.clients), func(a, b *client) int { return cmp.Compare(a.demand, b.demand) })
	for i, c := range all {
		due := min(c.demand, left/float64(len(all)-i))
		left -= due
		used += got[c.id]
		require.GreaterOrEqual(w.t, got[c.id], 0.98*due-1, "of %v hits in a second, of a limit of %d for %d", c.demand, w.capacity, len(all))
	}
	require.GreaterOrEqual(w.t, used, 0.98*float64(w.capacity), "of %v for %d", sum(all), len(all))
}
