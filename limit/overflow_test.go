package limit

import (
	"math"
	"strconv"
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
				heads := of.heads(windowAt(time.Now(), time.Hour).number)
				for _, head := range []string{heads.before, heads.now} {
					require.NoError(t, w.client.Do(t.Context(), radix.Cmd(nil, "SET", head+"k", "9000000000000000000")))
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

// TestRefillOverHugeCounts: a refill finds nothing free where the counts are near the end of int64.
func TestRefillOverHugeCounts(t *testing.T) {
	of := &Limit{rule: Rule{Quota: 1000, Window: time.Hour, Algorithm: SlidingWindow}}
	at := window{length: time.Hour, elapsed: time.Second}
	r := refill{lease: &keyLease{limit: of}, window: at, n: 10}
	hits := of.appendHits(nil, at, "k", 10, time.Second)
	hits[0].Total, hits[1].Total = math.MaxInt64, math.MaxInt64
	r.counted(hits)
	require.Zero(t, r.granted)
	require.EqualValues(t, 10, r.excess)
	require.Negative(t, r.free)
}

// TestHugestCount: a script replies with a count that an int64 holds, also for the largest one.
func TestHugestCount(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l := w.limiter(t, Config{NearCache: -1})
				of := l.must(t, Rule{Name: "user", Quota: 1000, Window: time.Hour, Algorithm: algorithm})
				atWindow(time.Hour)
				now := of.heads(windowAt(time.Now(), time.Hour).number).now
				require.NoError(t, w.client.Do(t.Context(), radix.Cmd(nil, "SET", now+"k", strconv.FormatInt(math.MaxInt64, 10))))
				granted, d := l.AllowAtMost(t.Context(), Request{Limit: of, Key: "k", Cost: 2})
				require.Zero(t, granted)
				requireDenied(t, d)
				k := &keyLease{limit: of, key: "k"}
				r := refill{lease: k, window: windowAt(time.Now(), time.Hour), n: 10}
				require.NoError(t, l.refillHits(t.Context(), &r))
				require.Zero(t, r.granted)
				require.Negative(t, r.free)
			})
		})
	}
}
