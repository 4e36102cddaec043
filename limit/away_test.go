package limit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestAllowAtMostGrantsTheShare: without Redis it grants no more than the limit, or than the process's share, and
// the share comes back.
func TestAllowAtMostGrantsTheShare(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		for instances, most := range map[int]int64{0: 100, 10: 10} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l := w.limiter(t, Config{Instances: instances, Budget: 20 * time.Millisecond})
				limit := l.must(t, Rule{Name: "r", Quota: 100, Window: time.Minute, Algorithm: algorithm})
				w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
				all := Request{Limit: limit, Key: "k", Cost: 1_000_000}
				granted, d := l.AllowAtMost(t.Context(), all)
				require.Equal(t, most, granted)
				require.Error(t, d.Err)
				again, _ := l.AllowAtMost(t.Context(), all)
				if instances == 0 {
					require.Equal(t, most, again, "it fails open")
					return
				}
				require.Zero(t, again)
				time.Sleep(7 * time.Second) // a token comes every 6 s
				require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
				require.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
			})
		}
	}
}

// TestLateWord: while Redis is slower than the budget, its late replies still deny.
func TestLateWord(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			full := w.limiter(t, Config{})
			rule := Rule{Name: "r", Quota: 10, Window: time.Hour, Algorithm: algorithm}
			atWindow(time.Hour)
			require.True(t, full.Allow(t.Context(), Request{Limit: full.must(t, rule), Key: "k", Cost: 10}).Allowed)
			l := w.limiter(t, Config{})
			hit := Request{Limit: l.must(t, rule), Key: "k"}
			w.net.Impose("", "", simnet.Conditions{Latency: 75 * time.Millisecond}) // replies come 50 ms after the budget
			require.Equal(t, "failed_open", l.Allow(t.Context(), hit).Outcome())
			time.Sleep(300 * time.Millisecond)
			r := l.Allow(t.Context(), hit)
			require.Equal(t, "denied_near", r.Outcome(), algorithm)
			require.Positive(t, r.RetryAfter)
		})
	}
}
