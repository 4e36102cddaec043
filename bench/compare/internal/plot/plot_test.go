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
			result := load.NewResult()
			failed := int64(share(e.Load) * all)
			result.Callers, result.Took, result.Requests = e.Load.Callers, time.Second, all-failed
			require.NoError(t, result.Writes.RecordValues(int64(time.Millisecond), result.Requests))
			result.Errors["deadline"] = load.Failure{Count: failed, Example: "late"}
			run.Endpoints[i].Add([]*load.Result{result})
		}
	}
	r.Finish()
	return r
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
	_, err = SVG(r, "other")
	require.ErrorContains(t, err, `no figure "other": there are ["run-01-mixed-10keys-percentiles"]`)
}
