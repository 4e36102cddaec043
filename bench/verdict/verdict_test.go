package verdict

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestVerdicts(t *testing.T) {
	good := Figures{Target: 1000, Actual: 1000, P99: time.Millisecond, Measured: true}
	for _, test := range []struct {
		change func(*Figures)
		want   Verdict
		why    string
	}{
		{func(*Figures) {}, Excellent, ""},
		{func(f *Figures) { f.P99 = 10 * time.Millisecond }, Good, ""},
		{func(f *Figures) { f.P99 = 149 * time.Millisecond }, Acceptable, ""},
		{func(f *Figures) { f.P99 = 150 * time.Millisecond }, Degraded, ""},
		{func(f *Figures) { f.SLA, f.InTime = 0.99, 0.99 }, Excellent, ""},
		{func(f *Figures) { f.SLA, f.InTime = 0.99, 0.98 }, OverSLA, "98 % of the requests were in time, less than 99 %"},
		{func(f *Figures) { f.Failed = 0.01 }, Excellent, ""},
		{func(f *Figures) { f.Failed, f.SLA = 0.02, 0.99 }, Breaking, "2 % of the requests failed, more than 1 %"},
		{func(f *Figures) { f.Actual = 949 }, Breaking, "the rate was 94.9 % of the target, less than 95 %"},
		{func(f *Figures) { f.Measured = false }, Breaking, "nothing was answered"},
	} {
		f := good
		test.change(&f)
		v, why := Of(f)
		require.Equal(t, test.want, v, "%+v", f)
		require.Equal(t, test.why, why)
		require.Equal(t, test.why == "", v.Holds())
	}
}

func TestHighest(t *testing.T) {
	require.Equal(t, Limit{Recommended: 16, Holds: 20, Breaks: 30},
		Highest([]Point{{40, true}, {10, true}, {30, false}, {20, true}, {50, false}}))
	require.Equal(t, Limit{Breaks: 10}, Highest([]Point{{10, false}}))
	require.Equal(t, Limit{Recommended: 8, Holds: 10}, Highest([]Point{{10, true}}))
}

func TestFewest(t *testing.T) {
	for _, test := range []struct {
		points       []Point
		holds, fails float64
	}{
		{[]Point{{8, true}, {4, false}, {2, true}, {1, false}}, 8, 4},
		{[]Point{{1, true}, {2, true}}, 1, 0},
		{[]Point{{1, true}, {2, false}}, 0, 2},
		{nil, 0, 0},
	} {
		holds, fails := Fewest(test.points)
		require.Equal(t, []float64{test.holds, test.fails}, []float64{holds, fails})
	}
}
