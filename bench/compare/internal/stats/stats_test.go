package stats

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
)

// TestMoments compares with values computed by hand: of 2, 4, 4, 4, 5, 5, 7, 9
// the mean is 5, the sum of squares 32, of cubes 42, of fourth powers 356.
func TestMoments(t *testing.T) {
	m := describe([]float64{2, 4, 5, 7, 9}, []float64{1, 3, 2, 1, 1})
	require.InDelta(t, 5, m.Mean, 1e-12)
	require.InDelta(t, 2.13808993529940, m.StdDev, 1e-12) // sqrt(32/7)
	require.InDelta(t, 0.42761798705988, m.CV, 1e-12)
	// n/((n-1)(n-2)) * 42/s^3
	require.InDelta(t, 0.81848756724, m.Skewness, 1e-6)
	// n(n+1)/((n-1)(n-2)(n-3)) * 356/s^4 - 3(n-1)^2/((n-2)(n-3))
	require.InDelta(t, 0.940625, m.Kurtosis, 1e-6)
}

func TestMomentsOfFew(t *testing.T) {
	require.Equal(t, Moments{}, describe(nil, nil))
	require.Equal(t, Moments{Mean: 3}, describe([]float64{3}, []float64{1}))
	require.Equal(t, Moments{Mean: 3}, describe([]float64{3}, []float64{100}))
}

func TestDescribeHistogram(t *testing.T) {
	h := hdrhistogram.New(1, 1_000_000, 3)
	for v := int64(1); v <= 1000; v++ {
		require.NoError(t, h.RecordValue(v))
	}
	m := Describe(h)
	require.InDelta(t, 500.5, m.Mean, 0.5)
	require.InDelta(t, 288.819, m.StdDev, 0.5) // sqrt((n^2-1)/12 * n/(n-1))
	require.InDelta(t, 0, m.Skewness, 0.01)
	require.InDelta(t, -1.2, m.Kurtosis, 0.01) // of a uniform distribution
}

// TestCompare checks the exact p of the test: 2 divided by the number of ways to
// choose the rounds, if no round of one is among those of the other.
func TestCompare(t *testing.T) {
	tests := []struct {
		name         string
		first, other []float64
		ratio, p     float64
	}{
		{"three apart", []float64{1, 2, 3}, []float64{4, 5, 6}, 2.5, 0.1},                      // 2/20
		{"four apart", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.6, 2.0 / 70},            // 2/70
		{"four the other way", []float64{5, 6, 7, 8}, []float64{1, 2, 3, 4}, 1 / 2.6, 2. / 70}, // two-sided
		{"five apart", []float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 8. / 3, 2. / 252},
		{"mixed", []float64{1, 4, 5, 8}, []float64{2, 3, 6, 7}, 1, 1},
		{"all the same", []float64{1, 1}, []float64{1, 1}, 1, 1},
		{"none", nil, []float64{1}, 0, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Compare(test.first, test.other)
			require.InDelta(t, test.ratio, got.Ratio, 1e-9)
			require.InDelta(t, test.p, got.P, 1e-9)
			require.Equal(t, test.p < 0.05, got.Significant())
		})
	}
}

func TestMedian(t *testing.T) {
	require.Zero(t, Median(nil))
	require.InDelta(t, 2, Median([]float64{3, 1, 2}), 1e-12)
	require.InDelta(t, 2.5, Median([]float64{4, 1, 3, 2}), 1e-12)
}
