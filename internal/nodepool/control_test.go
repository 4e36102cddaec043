package nodepool

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const quietInTests = 10 * time.Second

func controlOf(min, max, target int) control {
	return control{min: min, max: max, fill: growTo, quiet: quietInTests, target: target}
}

func TestControlGrows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what           string
		min, max, size int
		s              sample
		want           int
		why            string
	}{
		{"one waits", 10, 100, 10, sample{open: 10, load: 11, waiters: 1}, 15, growWaiters},
		{"all wait: one step for all", 10, 1000, 15, sample{open: 15, load: 500, waiters: 485}, 667, growWaiters},
		{"not over Max", 10, 100, 15, sample{open: 15, load: 500, waiters: 485}, 100, growWaiters},
		{"at Max", 10, 100, 100, sample{open: 100, load: 500, waiters: 400}, 100, ""},
		{"what was decided is yet to be dialled", 10, 100, 50, sample{open: 49, load: 90, waiters: 40}, 50, ""},
		{"nobody waits, over 90 %", 10, 100, 40, sample{open: 40, load: 37}, 50, growSaturation},
		{"at 90 %", 10, 100, 40, sample{open: 40, load: 36}, 40, ""},
		{"Min may be used up", 10, 100, 10, sample{open: 10, load: 10}, 10, ""},
		{"the first connection", 0, 50, 0, sample{open: 0, load: 1, waiters: 1}, 2, growWaiters},
	} {
		law := controlOf(c.min, c.max, c.size)
		to, why := law.grow(c.s)
		require.Equal(t, c.want, to, c.what)
		require.Equal(t, c.why, why, c.what)
	}
}

// TestControlShrinks looks every half second at a load of 90 and then at one
// that is low.
func TestControlShrinks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		min, max, size, high, low int
		want                      int
	}{
		{10, 100, 100, 90, 10, 10}, // Min carries it
		{2, 100, 100, 90, 10, 14},  // at 75 %
		{2, 100, 100, 90, 29, 39},
		{2, 100, 100, 90, 30, 100}, // not below 30 %
		{2, 100, 3, 2, 0, 2},
		{0, 50, 2, 1, 0, 0},
	} {
		now := time.Unix(1, 0)
		law := controlOf(c.min, c.max, c.size)
		see := func(peak int) (int, string) {
			now = now.Add(time.Second / 2)
			return law.look(sample{now: now, open: c.size, load: peak})
		}
		for range 100 {
			to, _ := see(c.high)
			require.Equal(t, c.size, to, "%+v", c)
		}
		quiet := now
		to, why := see(c.low)
		for ; why == "" && now.Sub(quiet) < time.Minute; to, why = see(c.low) {
			require.Equal(t, c.size, to)
		}
		require.Equal(t, c.want, to, "%+v", c)
		if c.want != c.size {
			require.Equal(t, shrinkQuiet, why)
			require.Equal(t, quietInTests+time.Second/2, now.Sub(quiet), "%+v", c)
		}
	}
}

// A history is what the law has seen since the last resize: the model of
// control.look, written from its definition.
type history []sample

func (h history) wanted(c control) int {
	s := h[len(h)-1]
	limit := 0.9 * float64(c.target)
	if c.target == c.min {
		limit = float64(c.target)
	}
	fits := func(load int) int { // the smallest size with a saturation of 75 % or less
		n := 0
		for 4*load > 3*n {
			n++
		}
		return n
	}
	if float64(s.load) > limit && s.open >= c.target {
		return max(c.target, min(c.max, fits(s.load)))
	}
	// The quiet time begins with the first low load after one that was not.
	began := len(h)
	for began > 1 && 10*h[began-1].load < 3*c.target {
		began--
	}
	if began >= len(h)-1 || s.now.Sub(h[began].now) < c.quiet {
		return c.target
	}
	highest := 0
	for _, quiet := range h[began+1:] {
		highest = max(highest, quiet.load)
	}
	if highest <= c.min {
		return c.min
	}
	return min(c.target, max(c.min, fits(highest)))
}

// randomLoad returns a load that now stays, now jumps, now drifts.
func randomLoad(r *rand.Rand, most int) func() int {
	level, noise, drift := 0, 0, 0
	return func() int {
		switch r.IntN(40) {
		case 0:
			level = r.IntN(most)
		case 1:
			noise = r.IntN(1 + most/8)
		case 2:
			drift = r.IntN(5) - 2
		case 3:
			level = 0
		}
		level = min(max(0, level+drift), most)
		return level + r.IntN(1+noise)
	}
}

// TestControlIsItsModel: random loads and ranges.
func TestControlIsItsModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		now := time.Unix(1, 0)
		least := r.IntN(10)
		law := controlOf(least, least+1+r.IntN(60), least)
		load := randomLoad(r, 80)
		seen := history{{now: now}}
		for range 2000 {
			now = now.Add(time.Duration(1+r.IntN(1000)) * time.Millisecond)
			s := sample{now: now, open: law.target + r.IntN(3) - 1, load: load()}
			seen = append(seen, s)
			to, why := law.look(s)
			require.Equal(t, seen.wanted(law), to, "seed %d: %+v, %+v", seed, law, s)
			require.Equal(t, why != "", to != law.target)
			require.GreaterOrEqual(t, to, law.min)
			require.LessOrEqual(t, to, law.max)
			if to != law.target {
				law.resize(to)
				seen = history{s}
			}
		}
	}
}

// TestControlDoesNotOscillate: no load that led to a shrink makes the pool grow
// again. A load that stays makes it grow once, or shrink twice (first to what was
// needed earlier in the quiet time), never both.
func TestControlDoesNotOscillate(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		now := time.Unix(1, 0)
		least := r.IntN(20)
		law := controlOf(least, least+1+r.IntN(100), 0)
		law.target = least + r.IntN(law.max-least+1)
		look := func(peak int) string {
			now = now.Add(time.Second / 2)
			to, why := law.look(sample{now: now, open: law.target, load: peak})
			if why != "" {
				law.resize(to)
			}
			return why
		}
		load := randomLoad(r, 60)
		for range 1000 {
			highest := law.peak
			peak := load()
			if look(peak) != shrinkQuiet {
				continue
			}
			highest = max(highest, peak)
			for range 50 {
				require.NotContains(t, []string{growSaturation, growWaiters}, look(r.IntN(highest+1)), "seed %d: %+v", seed, law)
			}
		}
		steady, resizes := load(), map[string]int{}
		for range 1000 {
			resizes[look(steady)]++
		}
		require.LessOrEqual(t, resizes[growSaturation], 1, "seed %d: %+v", seed, law)
		require.LessOrEqual(t, resizes[shrinkQuiet], 2, "seed %d: %+v", seed, law)
		require.Zero(t, resizes[growSaturation]*resizes[shrinkQuiet], "seed %d: %+v", seed, law)
	}
}

// TestControlFollowsRandomArrivals: what a pool sees of requests that arrive at
// random, for three hours at each rate.
func TestControlFollowsRandomArrivals(t *testing.T) {
	t.Parallel()
	for _, mean := range []int{1, 3, 10, 20} {
		t.Run(fmt.Sprint(mean), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(mean), 3))
			now := time.Unix(1, 0)
			law := controlOf(1, 200, 1)
			resizes := 0
			for range 3 * 3600 * 2 {
				now = now.Add(time.Second / 2)
				peak := 0 // binomial, nearly Poisson, the highest of four moments
				for range 4 {
					n := 0
					for range 4 * mean {
						n += r.IntN(4) / 3
					}
					peak = max(peak, n)
				}
				if to, why := law.look(sample{now: now, open: law.target, load: peak}); why != "" {
					law.resize(to)
					resizes++
					require.NotEqual(t, shrinkQuiet, why)
				}
			}
			require.LessOrEqual(t, resizes, 8)
		})
	}
}
