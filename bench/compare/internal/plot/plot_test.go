package plot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// measured is a report of the file in which that share of each endpoint's requests failed.
func measured(t *testing.T, file string, share func(settings.Load) float64) *report.Report {
	t.Helper()
	f, err := settings.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	r := report.New(f)
	for _, s := range f.Runs {
		run := r.Begin(s)
		for i, e := range s.Endpoints {
			const all = 10_000
			failed := int64(share(e.Load) * all)
			var phases []*load.Result
			for _, step := range e.Load.Phases() {
				result := load.NewResult()
				result.Callers, result.Took, result.Requests = step.Callers, time.Second, all-failed
				for v := range result.Requests {
					require.NoError(t, result.Writes.RecordValue((v+1)*int64(i+1)*1000))
				}
				if failed > 0 {
					result.Errors["deadline"] = load.Failure{Count: failed, Example: "late"}
				}
				result.Use.Samples = []load.Sample{{At: 0, Open: 3}, {At: time.Second, Open: 9}}
				phases = append(phases, result)
			}
			run.Endpoints[i].Add(phases)
		}
	}
	r.Finish()
	return r
}

func none(settings.Load) float64 { return 0 }

// TestFigures: each has its texts, and a name by which it is found.
func TestFigures(t *testing.T) {
	for _, test := range []struct {
		file, name string
		want       []string
	}{
		{"{}", "run-01-mixed-10keys-percentiles", []string{">Latency by percentile: mixed_10keys (100 callers,<", ">P99<", ">laned-4<"}},
		{"steps: [{callers: 1, for: 1s}, {callers: 2, for: 1s}]", "run-01-mixed-10keys-connections", []string{">connections open, all nodes together<"}},
		{"{rate: 100, callers: 7, vary: {round_trip: [0, 5ms]}}", "over-round-trip",
			[]string{">Over round_trip, 7 callers, 100 requests a second<", ">requests per second: median and spread of the rounds<", ">5ms<"}},
		{"vary: {rate: [10, 500], group: [node]}", "over-rate", []string{">rate that is due<", ">by node<"}},
	} {
		svg, err := SVG(measured(t, test.file, none), test.name)
		require.NoError(t, err)
		for _, want := range test.want {
			require.Contains(t, string(svg), want, test.name)
		}
		require.NotContains(t, string(svg), "failed")
	}
	_, err := SVG(measured(t, "{}", none), "other")
	require.ErrorContains(t, err, `no figure "other": there are ["run-01-mixed-10keys-percentiles"]`)
}

// TestFailuresAreDrawn: if most requests of a pool fail, it does not look like a fast one.
func TestFailuresAreDrawn(t *testing.T) {
	r := measured(t, "vary: {pool: [{kind: fixed, size: 2}, {kind: fixed, size: 9}]}", func(l settings.Load) float64 {
		if l.Pool.Size == 2 {
			return 0.86
		}
		return 0
	})
	svg, err := SVG(r, "run-01-mixed-10keys-percentiles")
	require.NoError(t, err)
	require.Contains(t, string(svg), ">fixed-2, 86 % failed<")
	require.Contains(t, string(svg), ">fixed-9<")
	svg, err = SVG(measured(t, "vary: {callers: [1, 2]}", func(settings.Load) float64 { return 1 }), "over-callers")
	require.NoError(t, err)
	require.Contains(t, string(svg), ">requests that failed (%)<")
	require.NotContains(t, string(svg), "latency", "nothing succeeded")
}
