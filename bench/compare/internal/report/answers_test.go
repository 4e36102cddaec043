package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// measured is a report of the file, with a turn of each endpoint in each run.
func measured(t *testing.T, file string, turn func(settings.Load) *load.Result) *Report {
	t.Helper()
	f, err := settings.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	r := New(f)
	for _, s := range f.Runs {
		run := r.Begin(s)
		for i, e := range s.Endpoints {
			run.Endpoints[i].Add([]*load.Result{turn(e.Load)})
		}
	}
	r.Finish()
	return r
}

// served is a second at the rate, in which all requests took so long and that share failed.
func served(l settings.Load, took time.Duration, failed float64) *load.Result {
	r := load.NewResult()
	bad := int64(failed * l.Rate)
	r.Callers, r.Took, r.Requests = l.Callers, time.Second, int64(l.Rate)-bad
	_ = r.Writes.RecordValues(took.Nanoseconds(), r.Requests)
	if bad > 0 {
		r.Errors["deadline"] = load.Failure{Count: bad, Example: "late"}
	}
	return r
}

// TestBreakingPoint: the laned pool holds all rates, the fixed one breaks at 3,000.
func TestBreakingPoint(t *testing.T) {
	r := measured(t, "{vary: {rate: [1000, 2000, 3000], callers: [5], pool: [{kind: fixed, size: 3}, {kind: laned}]}}", func(l settings.Load) *load.Result {
		failed := 0.0
		if l.Rate > 2000 && l.Pool.Kind == "fixed" {
			failed = 0.5
		}
		return served(l, time.Millisecond, failed)
	})
	require.Len(t, r.Limits, 2)
	require.InDelta(t, 2000, r.Limits[0].Holds, 0)
	require.InDelta(t, 3000, r.Limits[0].Breaks, 0)
	require.InDelta(t, 1600, r.Limits[0].Recommended, 1e-9)
	var out bytes.Buffer
	r.WriteTable(&out)
	require.Contains(t, out.String(), "| callers=5 | fixed-3  |  2000 |        3000 |               1600 | 50 % of the requests failed, more than 1 % |")
	require.Contains(t, out.String(), "| callers=5 | laned-4  |  3000 | not reached |               2400 |")
	require.Contains(t, out.String(), "|   50 % |  breaking |")
	require.Contains(t, out.String(), "| excellent |")
}

const sizes = "{vary: {pool: [{kind: fixed, size: 2}, {kind: fixed, size: 4}, {kind: fixed, size: 8}, {kind: laned}]}, "

// TestFewestConnections of an open loop with an SLA: two connections are too few.
func TestFewestConnections(t *testing.T) {
	r := measured(t, sizes+"rate: 1000, sla: {within: 5ms, share: 0.999}}", func(l settings.Load) *load.Result {
		took := time.Millisecond
		if l.Pool.Size == 2 {
			took = 6 * time.Millisecond
		}
		result := served(l, took, 0)
		result.Use.Waited = 1000
		return result
	})
	require.Equal(t, []Size{{Run: "mixed_10keys", Pool: "fixed", Enough: 4, Less: 2, Bound: byPool,
		Why: "0 % of the requests were in time, less than 99.9 %"}}, r.Sizes)
	var out bytes.Buffer
	r.WriteTable(&out)
	require.Contains(t, out.String(), "|     0 % |  over SLA |")
	require.Contains(t, out.String(), "|   100 % | excellent |")
}

// TestNoSizes: endpoints that differ in more than the size say nothing of it, nor does a closed loop.
func TestNoSizes(t *testing.T) {
	for _, file := range []string{
		"endpoints: [{name: a, rate: 1, pool: {kind: fixed, size: 1}}, {name: b, rate: 9, pool: {kind: fixed, size: 2}}]",
		sizes + "callers: 10}",
	} {
		require.Empty(t, measured(t, file, func(l settings.Load) *load.Result { return turn(l.Callers) }).Sizes)
	}
}

// TestFailuresAreNotInTime: an SLA counts them as late.
func TestFailuresAreNotInTime(t *testing.T) {
	r := measured(t, "{rate: 1000, sla: {within: 10ms}}", func(l settings.Load) *load.Result { return served(l, time.Millisecond, 0.25) })
	require.InDelta(t, 0.75, r.Runs[0].Endpoints[0].Phases[0].InTime, 1e-9)
}
