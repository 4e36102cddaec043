package limit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestTokensThatAreGoneAfterALook: a call that looks first takes no tokens of a lease that have flowed into
// the bucket meanwhile.
func TestTokensThatAreGoneAfterALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{})
		bucket := l.must(t, Rule{Name: "bucket", Quota: 1000, Window: time.Second, Algorithm: TokenBucket})
		other := l.must(t, Rule{Name: "other", Quota: 1, Burst: 2, Window: time.Second, Algorithm: TokenBucket})
		require.True(t, l.Allow(t.Context(), Request{Limit: other, Key: "o", Cost: 2}).Allowed)
		require.False(t, l.Allow(t.Context(), Request{Limit: other, Key: "o"}).Allowed)
		time.Sleep(time.Second)      // there is room again, but the call looks first
		l.leases.tending.Store(true) // so that no goroutine tends the lease
		defer l.leases.tending.Store(false)
		warm(t, l, Request{Limit: bucket, Key: "b"})
		k := l.leases.find(bucket, "b")
		w.net.Impose("", "", simnet.Conditions{Latency: 20 * time.Millisecond})
		for has, left := true, k.leftIn(0); has; has = k.leftIn(0) == left {
			time.Sleep(time.Millisecond)
			k.mu.Lock()
			k.roll(0, time.Since(l.leases.epoch)) // until its first token has flowed in
			k.mu.Unlock()
		}
		require.Greater(t, k.leftIn(0), int64(20))
		looked := time.Now().Add(40 * time.Millisecond)
		r := l.Allow(t.Context(), Request{Limit: bucket, Key: "b"}, Request{Limit: other, Key: "o"})
		require.True(t, r.Allowed)
		require.GreaterOrEqual(t, r.Each[0].from, looked.Sub(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)).Microseconds())
	})
}
