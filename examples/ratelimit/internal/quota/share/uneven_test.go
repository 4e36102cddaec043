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

// fair requires that in a time 98 % of the limit is admitted, and whose hits it should be.
func (w *world) fair(d time.Duration) {
	w.t.Helper()
	got := w.allowed(d, nil)
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

// allowed lets time pass, and returns how many hits in a second each client is admitted. It calls each in each step.
func (w *world) allowed(d time.Duration, each func()) []float64 {
	got := make([]float64, len(w.clients))
	for i, c := range w.clients {
		got[i] = -float64(c.allowed)
	}
	for end := w.now.Add(d); w.now.Before(end); {
		w.run(step)
		if each != nil {
			each()
		}
	}
	for i, c := range w.clients {
		got[i] = (got[i] + float64(c.allowed)) / d.Seconds()
	}
	return got
}

// TestBursts: a client whose hits come at random times uses 1 - 1/(2 tokens) of the share that it needs all of, or
// 2 % less. Its bucket is full now and then, and what flows in then is lost. It can save no more, since all that
// clients save may be used in one window.
func TestBursts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(race.Rounds(8, 2)) {
		w := newWorld(t, seed, []int64{200, 1000}[seed%2])
		w.random = true
		for range 2 + w.rng.IntN(int(w.capacity)/100-1) {
			w.join(0).demand = w.demand()
		}
		w.clients[0].demand += max(0, float64(w.capacity)-sum(w.clients))
		w.run(40 * time.Second)
		const d = time.Minute
		bounds, used, bound := make([]float64, len(w.clients)), 0.0, 0.0
		got := w.allowed(d, func() {
			for i, c := range w.clients {
				part := 1 - 1/(2*float64(max(1, c.tokens))) - 0.02
				bounds[i] += part * min(c.demand, float64(c.share)) * step.Seconds() / d.Seconds()
			}
		})
		for i, n := range got {
			chance := 4 * math.Sqrt(bounds[i]/d.Seconds())
			require.GreaterOrEqual(t, n, bounds[i]-chance-0.1, "%+v", w.clients[i])
			used, bound = used+n, bound+bounds[i]
		}
		require.GreaterOrEqual(t, used, bound)
		require.Greater(t, bound, 0.72*float64(w.capacity)*0.98, "with two tokens")
	}
}
