package limit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestSecondDrawWithoutReply: Redis has too few tokens for a call, and its lease has the others. If the
// second draw gets no reply within the budget, the call is denied, since Redis did decide. It does not fail
// open, and the lease keeps its tokens.
func TestSecondDrawWithoutReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l, other := w.limiter(t, Config{}), w.limiter(t, Config{})
		rule := Rule{Name: "user", Quota: 1000, Burst: 1000, Window: time.Hour, Algorithm: TokenBucket}
		limit := l.must(t, rule)
		rule.NoLease = true
		direct := other.must(t, rule)
		began, allowed := time.Now(), int64(0)
		for range 40 {
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
			allowed++
			time.Sleep(20 * time.Millisecond)
		}
		k := l.leases.find(limit, "k")
		require.NotNil(t, k)
		free := other.Allow(t.Context(), Request{Limit: direct, Key: "k", Look: true}).Remaining
		require.True(t, other.Allow(t.Context(), Request{Limit: direct, Key: "k", Cost: free - 5}).Allowed)
		allowed += free - 5
		left := k.leftIn(0)
		require.Positive(t, left)
		lift := w.net.Impose("", "", simnet.Conditions{Latency: 30 * time.Millisecond})
		r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: left + 2})
		t.Logf("%d left: %+v", left, r)
		require.False(t, r.Allowed)
		require.NoError(t, r.Err)
		require.LessOrEqual(t, r.RetryAfter, soon)
		require.Equal(t, left, k.leftIn(0))
		lift()
		for l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed {
			allowed++
		}
		require.LessOrEqual(t, allowed, 1000+int64(time.Since(began)/(time.Hour/1000)))
	})
}
