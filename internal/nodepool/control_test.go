package nodepool

import (
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
	}{
		{"one waits", 10, 100, 10, sample{open: 10, load: 11, waiters: 1}, 15},
		{"all wait: one step for all", 10, 1000, 15, sample{open: 15, load: 500, waiters: 485}, 667},
		{"not over Max", 10, 100, 15, sample{open: 15, load: 500, waiters: 485}, 100},
		{"at Max", 10, 100, 100, sample{open: 100, load: 500, waiters: 400}, 100},
		{"what was decided is yet to be dialled", 10, 100, 50, sample{open: 49, load: 90, waiters: 40}, 50},
		{"nobody waits, over 90 %", 10, 100, 40, sample{open: 40, load: 37}, 50},
		{"at 90 %", 10, 100, 40, sample{open: 40, load: 36}, 40},
		{"Min may be used up", 10, 100, 10, sample{open: 10, load: 10}, 10},
		{"the first connection", 0, 50, 0, sample{open: 0, load: 1, waiters: 1}, 2},
	} {
		law := controlOf(c.min, c.max, c.size)
		require.Equal(t, c.want, law.grow(c.s), c.what)
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
		see := func(peak int) int {
			now = now.Add(time.Second / 2)
			return law.look(sample{now: now, open: c.size, load: peak})
		}
		for range 100 {
			require.Equal(t, c.size, see(c.high), "%+v", c)
		}
		quiet := now
		to := see(c.low)
		for ; to == c.size && now.Sub(quiet) < time.Minute; to = see(c.low) {
		}
		require.Equal(t, c.want, to, "%+v", c)
		if c.want != c.size {
			require.Equal(t, quietInTests+time.Second/2, now.Sub(quiet), "%+v", c)
		}
	}
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
		look := func(peak int) (by int) {
			now = now.Add(time.Second / 2)
			to := law.look(sample{now: now, open: law.target, load: peak})
			if by = to - law.target; by != 0 {
				law.resize(to)
			}
			return by
		}
		load := randomLoad(r, 60)
		for range 1000 {
			highest := law.peak
			peak := load()
			if look(peak) >= 0 {
				continue
			}
			highest = max(highest, peak)
			for range 50 {
				require.LessOrEqual(t, look(r.IntN(highest+1)), 0, "seed %d: %+v", seed, law)
			}
		}
		steady, grows, shrinks := load(), 0, 0
		for range 1000 {
			switch by := look(steady); {
			case by > 0:
				grows++
			case by < 0:
				shrinks++
			}
		}
		require.LessOrEqual(t, grows, 1, "seed %d: %+v", seed, law)
		require.LessOrEqual(t, shrinks, 2, "seed %d: %+v", seed, law)
		require.Zero(t, grows*shrinks, "seed %d: %+v", seed, law)
	}
}
