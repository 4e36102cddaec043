package chart

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
)

func TestSVG(t *testing.T) {
	over := Axis{Label: "callers"}
	for _, at := range []float64{1, 8, 8, 100} {
		over.Add(at, Number(at))
	}
	require.Len(t, over.Ticks, 3)
	c := Chart{Title: "Rates", Panels: []Panel{
		{Title: "One key", X: over, Lines: []Line{
			{Name: "ours", Points: []Point{{1, 10, 9, 11}, {8, 20, 0, 0}, {100, 2000, 0, 0}}},
			{Name: "fixed-50", Points: []Point{{X: 1, Y: 5}}},
		}},
		{Title: "P99", X: over, Y: Latency, Lines: []Line{
			{Name: "ours", Style: Dotted, Points: []Point{{X: 1, Y: 0.2}, {X: 8, Y: 3}}},
			{Name: "none", Points: nil}, {Name: "failed", Style: Crosses, Points: []Point{{X: 1, Y: 0.2}}},
		}},
	}}
	text, err := c.SVG()
	require.NoError(t, err)
	for _, want := range []string{">Rates<", ">One key<", ">callers (logarithmic)<", ">ours<", ">fixed-50<", ">failed<", ">2k<", ">500 µs<", "@media (prefers-color-scheme:dark)"} {
		require.Contains(t, string(text), want)
	}
	require.Equal(t, 1, strings.Count(string(text), ">ours<"), "one entry in the legend")
	require.NotContains(t, string(text), ">none<")
	_, err = (&Chart{Title: "Rates", Panels: []Panel{{}}}).SVG()
	require.ErrorContains(t, err, `chart "Rates": there is nothing to draw`)
}

// TestAPoolHasItsColour in each picture; others have those that are left.
func TestAPoolHasItsColour(t *testing.T) {
	for _, names := range [][]string{{"laned-1", "laned-4", "fixed-10"}, {"laned-4"}, {"fixed-50", "a", "laned-4"}} {
		var p Panel
		for _, name := range names {
			p.Lines = append(p.Lines, Line{Name: name})
		}
		_, colors := (&Chart{Panels: []Panel{p, p}}).legend()
		require.Zero(t, colors["laned-4"])
		seen := make(map[int]bool)
		for _, i := range colors {
			require.False(t, seen[i], "%v", colors)
			seen[i] = true
		}
	}
}

func TestRounding(t *testing.T) {
	for _, test := range []struct{ value, down, up float64 }{
		{0.3, 0.2, 0.5}, {1, 1, 1}, {1.5, 1, 2}, {7, 5, 10}, {90, 50, 100},
	} {
		require.InDelta(t, test.down, below(test.value), 1e-9)
		require.InDelta(t, test.up, above(test.value), 1e-9)
	}
	require.Equal(t, "2 ms", milliseconds(2))
	require.Equal(t, "1.5 s", milliseconds(1500))
	require.Equal(t, "1.2M", Number(1_200_000))
	require.Equal(t, "65.4k", Number(65_400))
}

// TestLabelsDoNotOverlap: those of the rates of a rising load, on both kinds of axes.
func TestLabelsDoNotOverlap(t *testing.T) {
	over := Axis{Label: "rate"}
	for _, rate := range []float64{10e3, 15e3, 20e3, 25e3, 30e3, 50e3, 75e3, 100e3, 150e3, 200e3, 300e3} {
		over.Add(rate, Number(rate))
	}
	p := newPlot("", "rate")
	for scale, least := range map[plot.Normalizer]int{plot.LinearScale{}: 7, plot.LogScale{}: 10} {
		ticks := spaced{over.Ticks, scale, p.X.Tick.Label}.Ticks(10e3, 300e3)
		require.Len(t, ticks, 11)
		var labels []string
		end := -1000.0
		for _, tick := range ticks {
			if tick.Label == "" {
				continue
			}
			labels = append(labels, tick.Label)
			at, half := scale.Normalize(10e3, 300e3, tick.Value)*float64(width), float64(p.X.Tick.Label.Width(tick.Label))/2
			require.Greater(t, at-half, end, tick.Label)
			end = at + half
		}
		require.GreaterOrEqual(t, len(labels), least, "%v", labels)
		require.Equal(t, "300k", labels[len(labels)-1])
		require.Equal(t, "10k", labels[0])
	}
}

func TestTitlesAreWrapped(t *testing.T) {
	require.Equal(t, []string{"Over rate, 50 callers"}, wrap(titleStyle(), "Over rate, 50 callers", width))
	require.Equal(t, []string{"Over rate,", "50 callers"}, wrap(titleStyle(), "Over rate, 50 callers", 100))
}
