package limit

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNearCacheKeepsNoTokens: a bucket of one token gives it to the first hit that comes after it
// has flowed in, on average the time between two hits later. The near cache must not deny that
// hit because the reply that it remembers was on its way for a while.
func TestNearCacheKeepsNoTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "user", Quota: 30, Burst: 1, Window: time.Second, Algorithm: TokenBucket})
		const callers, length = 16, 20 * time.Second
		var asked, allowed atomic.Int64
		var all sync.WaitGroup
		began := time.Now()
		for i := range uint64(callers) {
			all.Go(func() {
				for random := rand.New(rand.NewPCG(i, 1)); time.Since(began) < length; asked.Add(1) {
					time.Sleep(time.Duration(random.ExpFloat64() * float64(20*time.Millisecond)))
					if l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed {
						allowed.Add(1)
					}
				}
			})
		}
		all.Wait()
		between := float64(length) / float64(asked.Load())
		possible := float64(length) / (limit.bucket.Per + between)
		t.Logf("%d asked, %d of %.0f allowed", asked.Load(), allowed.Load(), possible)
		require.InEpsilon(t, possible, allowed.Load(), 0.05)
	})
}

// TestNearCacheWithALargeBudget: a key that had no room for a hit is asked about again within 100 ms,
// also if the budget is larger. Hits that were given back meanwhile make room.
func TestNearCacheWithALargeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.limiter(t, Config{}), w.limiter(t, Config{Budget: 10 * time.Second})
		rule := Rule{Name: "user", Quota: 100, Window: time.Minute}
		atWindow(time.Minute)
		full := a.must(t, rule)
		require.True(t, a.Allow(t.Context(), Request{Limit: full, Key: "k", Cost: 100}).Allowed)
		hit := Request{Limit: b.must(t, rule), Key: "k"}
		require.False(t, b.Allow(t.Context(), hit).Allowed)
		a.set(t, full, "k", 0)
		require.True(t, b.Allow(t.Context(), hit).Near)
		time.Sleep(100 * time.Millisecond)
		require.True(t, b.Allow(t.Context(), hit).Allowed)
	})
}
