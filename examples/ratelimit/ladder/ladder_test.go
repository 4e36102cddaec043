package main

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	judged "github.com/redislanes/redislanes/bench/verdict"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/fake"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/report"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// climb runs a ladder in virtual time against a service of a known capacity.
func climb(ctx context.Context, t *testing.T, s *fake.Service, args ...string) *report.Report {
	t.Helper()
	parsed, err := parse(append(args, "-target", "in:memory"), io.Discard)
	require.NoError(t, err)
	l := ladder{
		settings: parsed, progress: io.Discard, report: report.New(nil),
		send: func(ctx context.Context, _ int) (bool, error) { return false, s.Wait(ctx) },
	}
	l.run(ctx)
	return l.report
}

func verdicts(r *report.Report) map[int]judged.Verdict {
	all := make(map[int]judged.Verdict)
	for _, s := range r.Steps {
		all[s.Target] = s.Verdict
	}
	return all
}

// TestLadder finds the capacity of a service that answers 875 requests a second:
// at 900 its queue grows too slowly to be over in two seconds.
func TestLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := climb(t.Context(), t, fake.New(7, 8*time.Millisecond), "-from", "700", "-to", "800", "-step", "100", "-max", "5000",
			"-for", "2s", "-warmup", "500ms", "-pause", "1s", "-zipf", "1.1")
		require.Equal(t, map[int]judged.Verdict{
			700: judged.Excellent, 800: judged.Excellent, 900: judged.Acceptable, 1000: judged.Breaking,
		}, verdicts(r))
		require.Equal(t, verdict.Summary{Recommended: 720, Limit: 900, Breaking: 1000}, r.Summary)
		require.False(t, r.Interrupted)
		require.Less(t, time.Since(began), (4*2500+3*1000)*time.Millisecond+500*time.Millisecond, "pauses are between steps")
		for _, s := range r.Steps {
			require.EqualValues(t, 2*s.Target, s.Successes+s.Failures)
			require.InDelta(t, min(s.Target, 875), s.Actual, 9)
		}
	})
}

// TestBreakingByTimeouts: with twice the load the queue is as long as the timeout,
// and half of the requests fail.
func TestBreakingByTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := climb(t.Context(), t, fake.New(5, 10*time.Millisecond), "-from", "1000", "-to", "1000", "-max", "1000", "-for", "4s", "-timeout", "500ms")
		require.Len(t, r.Steps, 1)
		require.Equal(t, judged.Breaking, r.Steps[0].Verdict)
		require.InDelta(t, 0.5, r.Steps[0].FailureShare(), 0.02)
		require.Contains(t, r.Steps[0].Why, "of the requests failed, more than 1 %")
		require.InDelta(t, float64(500*time.Millisecond), float64(r.Steps[0].Latency.P50), float64(20*time.Millisecond))
		require.InDelta(t, 500, r.Steps[0].MostOutstanding, 20)
	})
}

// TestInterruption ends a ladder at different times.
func TestInterruption(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  map[int]judged.Verdict
	}{
		"in the first warm-up": {500 * time.Millisecond, map[int]judged.Verdict{}},
		"while measuring":      {4505 * time.Millisecond, map[int]judged.Verdict{100: verdict.Interrupted}},
		"in the pause":         {13 * time.Second, map[int]judged.Verdict{100: judged.Excellent}},
		"in the second step":   {20 * time.Second, map[int]judged.Verdict{100: judged.Excellent, 200: verdict.Interrupted}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.after)
				defer cancel()
				began := time.Now()
				r := climb(ctx, t, fake.New(7, time.Millisecond), "-from", "100", "-step", "100", "-to", "300", "-for", "10s", "-warmup", "1s")
				require.InDelta(t, float64(c.after), float64(time.Since(began)), float64(2*time.Millisecond))
				require.True(t, r.Interrupted)
				require.Equal(t, c.want, verdicts(r))
			})
		})
	}
}
