package limit

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"
)

// TestHugeCounts: counts that a stranger has set near the end of int64 deny, and do not overflow.
func TestHugeCounts(t *testing.T) {
	for name, limit := range map[string]int64{"one by one": 3, "with leases": 1000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l := w.limiter(t, Config{NearCache: -1})
				of := l.must(t, Rule{Name: "user", Quota: limit, Window: time.Hour, Algorithm: SlidingWindow, FailClosed: true})
				atWindow(time.Hour)
				time.Sleep(time.Second)
				if limit > 3 {
					warm(t, l, Request{Limit: of, Key: "k"})
				}
				now, before := of.names(of.number(of.windowAt(time.Now())), "k")
				for _, key := range []string{before, now} {
					require.NoError(t, w.client.Do(t.Context(), radix.Cmd(nil, "SET", key, "9000000000000000000")))
				}
				for l.Allow(t.Context(), Request{Limit: of, Key: "k"}).Leased { // until the lease is used up
				}
				for range 3 {
					requireDenied(t, l.Allow(t.Context(), Request{Limit: of, Key: "k"}).Decision)
					requireDenied(t, l.Allow(t.Context(), Request{Limit: of, Key: "k", Look: true}).Decision)
					granted, d := l.AllowAtMost(t.Context(), Request{Limit: of, Key: "k", Cost: 2})
					require.Zero(t, granted)
					requireDenied(t, d)
					time.Sleep(100 * time.Millisecond)
				}
			})
		})
	}
}

func requireDenied(t *testing.T, d Decision) {
	t.Helper()
	require.NoError(t, d.Err)
	require.False(t, d.Allowed)
	require.Zero(t, d.Remaining)
	require.Positive(t, d.RetryAfter)
	require.LessOrEqual(t, d.RetryAfter, 2*time.Hour)
}

// TestHugestCount: a reply holds a count that fits into an int64, also the largest one.
func TestHugestCount(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{NearCache: -1})
				of := l.must(t, Rule{Name: "user", Quota: 1000, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				l.set(t, of, "k", math.MaxInt64)
				for range 2 {
					granted, d := l.AllowAtMost(t.Context(), Request{Limit: of, Key: "k", Cost: 2})
					require.Zero(t, granted)
					requireDenied(t, d)
				}
			})
		})
	}
}
