package load

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

const draws = 200_000

func counts(t *testing.T, n int, draw func() int) []int {
	t.Helper()
	seen := make([]int, n)
	for range draws {
		key := draw()
		require.True(t, key >= 0 && key < n, key)
		seen[key]++
	}
	return seen
}

func TestUniform(t *testing.T) {
	for _, n := range counts(t, 100, Uniform(100, 1)) {
		require.InDelta(t, draws/100, n, 300) // more than six standard deviations
	}
	require.Equal(t, []int{draws}, counts(t, 1, Uniform(1, 1)))
}

// TestZipf compares the counts with the distribution's definition.
func TestZipf(t *testing.T) {
	const n, skew = 1000, 1.2
	sum := 0.0
	for k := range n {
		sum += math.Pow(float64(1+k), -skew)
	}
	seen := counts(t, n, Zipf(n, skew, 1))
	for _, k := range []int{0, 1, 2, 9, 99} {
		want := draws * math.Pow(float64(1+k), -skew) / sum
		require.InDelta(t, want, seen[k], 6*math.Sqrt(want), k)
	}
}

// TestSeed: the same seed draws the same keys.
func TestSeed(t *testing.T) {
	for _, draw := range []func(seed uint64) func() int{
		func(seed uint64) func() int { return Uniform(1000, seed) },
		func(seed uint64) func() int { return Zipf(1000, 1.1, seed) },
	} {
		first := counts(t, 1000, draw(1))
		require.Equal(t, first, counts(t, 1000, draw(1)))
		require.NotEqual(t, first, counts(t, 1000, draw(2)))
	}
}
