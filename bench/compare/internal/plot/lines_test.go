package plot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// failing is a report of the file in which that share of each endpoint's requests
// failed.
func failing(t *testing.T, file string, share func(settings.Load) float64) *report.Report {
	t.Helper()
	f, err := settings.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	r := report.New(f)
	for _, s := range f.Runs {
		run := r.Begin(s)
		for i, e := range s.Endpoints {
			const all = 10_000
			failed := int64(share(e.Load) * all)
			result := load.NewResult()
			result.Callers, result.Took, result.Requests = e.Load.Callers, time.Second, all-failed
			for v := range result.Requests {
				require.NoError(t, result.Writes.RecordValue((v+1)*int64(i+1)*1000))
			}
			if failed > 0 {
				result.Errors["deadline"] = load.Failure{Count: failed, Example: "late"}
			}
			run.Endpoints[i].Add([]*load.Result{result})
		}
	}
	r.Finish()
	return r
}

// texts returns all texts of a figure.
func texts(t *testing.T, r *report.Report, name string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, Write(folder, []string{"svg"}, r))
	svg, err := os.ReadFile(filepath.Join(folder, name+".svg"))
	require.NoError(t, err)
	return string(svg)
}

// TestFailuresAreDrawn: a pool of which most requests fail does not look like a fast
// one.
func TestFailuresAreDrawn(t *testing.T) {
	r := failing(t, "vary: {pool: [{kind: fixed, size: 2}, {kind: fixed, size: 9}]}", func(l settings.Load) float64 {
		if l.Pool.Size == 2 {
			return 0.86
		}
		return 0
	})
	for figure, want := range map[string][]string{
		"percentiles": {">fixed-2, 86 % failed<", ">fixed-9<"},
		"latency":     {">fixed-2, 86 % failed<", ">fixed-9<"},
		"throughput":  {">fixed-2, 86 % failed<", "1.4k, 86 % failed<", ">failed<"},
		"pool-size":   {">failures<", ">requests that failed (%)<", ">over 1 % failed<", ">connections to each node<", ">fixed<"},
	} {
		all := texts(t, r, "run-01-mixed-10keys-"+figure)
		for _, text := range want {
			require.Contains(t, all, text, figure)
		}
	}
	whole := failing(t, "{}", func(settings.Load) float64 { return 0 })
	require.NotContains(t, texts(t, whole, "run-01-mixed-10keys-throughput"), "failed")
}

// TestNothingSucceeded draws what there is: the failures.
func TestNothingSucceeded(t *testing.T) {
	r := failing(t, "vary: {callers: [1, 2]}", func(settings.Load) float64 { return 1 })
	require.Contains(t, texts(t, r, "run-01-callers-1-throughput"), "100 % failed")
	require.Contains(t, texts(t, r, "over-callers"), ">failures<")
}

// TestTitles say under which load and over which network.
func TestTitles(t *testing.T) {
	r := failing(t, "{callers: 7, rate: 100, jitter: 1ms, vary: {round_trip: [0, 5ms]}}", func(settings.Load) float64 { return 0 })
	require.Contains(t, texts(t, r, "run-02-round-trip-5ms-latency"),
		">Latency: round_trip=5ms (7 callers, 100 requests a second, jitter 1ms)<")
	require.Contains(t, texts(t, r, "over-round-trip"), ">Over round_trip, 7 callers, 100 requests a second, jitter 1ms<")
}

// TestLabelsDoNotOverlap: those of the rates of a rising load, on both kinds of axes.
func TestLabelsDoNotOverlap(t *testing.T) {
	over := axis{label: "rate"}
	for _, rate := range []float64{10e3, 15e3, 20e3, 25e3, 30e3, 50e3, 75e3, 100e3, 150e3, 200e3, 300e3} {
		over.add(rate, rateText(rate))
	}
	p := newPlot("", "rate", "")
	for scale, least := range map[plot.Normalizer]int{plot.LinearScale{}: 7, plot.LogScale{}: 10} {
		ticks := spacedTicks{over, scale, p.X.Tick.Label}.Ticks(10e3, 300e3)
		require.Len(t, ticks, 11)
		var labels []string
		end := -1000.0
		for _, tick := range ticks {
			if tick.Label == "" {
				continue
			}
			labels = append(labels, tick.Label)
			at, half := scale.Normalize(10e3, 300e3, tick.Value)*float64(panelWidth), float64(p.X.Tick.Label.Width(tick.Label))/2
			require.Greater(t, at-half, end, tick.Label)
			end = at + half
		}
		require.GreaterOrEqual(t, len(labels), least, "%v", labels)
		require.Equal(t, "300k", labels[len(labels)-1])
		require.Equal(t, "10k", labels[0])
	}
	over.mark(p)
	require.Equal(t, plot.LogScale{}, p.X.Scale)
	require.True(t, strings.HasSuffix(p.X.Label.Text, "(logarithmic)"))
}
