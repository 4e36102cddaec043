package limit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWarn: decisions say it from exactly the part on, also where it has no exact binary fraction.
func TestWarn(t *testing.T) {
	t.Parallel()
	warned := func(r Rule, d Decision) bool {
		d.warn(&r)
		return d.Warned
	}
	for percent := range int64(101) {
		r := Rule{Quota: 100, Warn: float64(percent) / 100}
		for used := range int64(101) {
			require.Equal(t, percent > 0 && used >= percent, warned(r, Decision{Allowed: true, Remaining: 100 - used}), "%d of %d", used, percent)
		}
	}
	require.True(t, warned(Rule{Algorithm: TokenBucket, Quota: 100, Burst: 10, Warn: 0.8}, Decision{Allowed: true, Remaining: 2}))
	r := Rule{Quota: 100, Warn: 0.8}
	require.True(t, warned(r, Decision{RetryAfter: time.Second}))
	require.False(t, warned(r, Decision{RetryAfter: Never}))
	require.False(t, warned(r, Decision{}), "not asked about")
	require.False(t, warned(r, Decision{Allowed: true, Err: errClosed}))
	require.False(t, warned(Rule{Warn: 0.8}, Decision{Allowed: true}), "no quota")
}

// TestWarned: all algorithms say it, with leases and without, and each request of a call for itself.
func TestWarned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := calendarLimiter(t)
		for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
			for _, noLease := range []bool{false, true} {
				limit, err := Rule{Name: algorithm.String(), Quota: 1000, Window: 24 * time.Hour, Algorithm: algorithm, Warn: 0.8, NoLease: noLease}.New(l)
				require.NoError(t, err)
				request := Request{Limit: limit, Key: map[bool]string{true: "alone", false: "leased"}[noLease]}
				leased := 0
				for used := 1; used <= 1000; used++ {
					time.Sleep(time.Millisecond)
					r := l.Allow(t.Context(), request)
					require.NoError(t, r.Err)
					require.True(t, r.Allowed)
					require.Equal(t, float64(1000-r.Remaining) >= 800, r.Warned)
					if used < 790 || used > 810 {
						require.Equal(t, used > 800, r.Warned, "%v: %d used, %d remain", algorithm, used, r.Remaining)
					}
					if r.Leased {
						leased++
					}
				}
				require.Equal(t, noLease, leased == 0)
				request.Cost = 500
				r := l.Allow(t.Context(), request)
				require.False(t, r.Allowed)
				require.True(t, r.Warned)
				fresh := request
				fresh.Key, fresh.Cost = "fresh", 1
				each := l.Allow(t.Context(), fresh, request).Each()
				require.False(t, each[0].Warned)
				require.True(t, each[1].Warned)
				_, d := l.AllowAtMost(t.Context(), request)
				require.True(t, d.Warned)
			}
		}
	})
}
