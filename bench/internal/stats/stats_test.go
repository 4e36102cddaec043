package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpread(t *testing.T) {
	require.Zero(t, Of(nil))
	values := []float64{3, 1, 2}
	require.Equal(t, Spread{1, 2, 3}, Of(values))
	require.Equal(t, []float64{3, 1, 2}, values, "the values are left as they are")
	require.InDelta(t, 2.5, Median([]float64{4, 1, 2, 3}), 1e-12)
	require.Equal(t, "2.00 (1.00 to 3.00)", Of(values).String())
	require.Equal(t, "0.054 (0.040 to 1.000)", Of([]float64{0.04, 0.054, 1}).String())
	require.Equal(t, "0.0015 (0.0015 to 0.0015)", Of([]float64{0.0015}).String())
}
