package limit

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestDryBucket: callers that find the lease of a bucket dry ask together.
func TestDryBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := new(commands)
		l := newTracedWorld(t, sent.trace()).limiter(t, Config{Budget: time.Second})
		limit := l.must(t, Rule{Name: "user", Quota: 10_000_000, Window: time.Minute, Algorithm: TokenBucket, FailClosed: true})
		var callers sync.WaitGroup
		for range 300 {
			callers.Go(func() {
				for i := range 40 {
					r := l.Allow(t.Context(), Request{Limit: limit, Key: "k"})
					assert.True(t, r.Allowed)
					assert.NoError(t, r.Err)
					if i%10 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		callers.Wait()
		t.Log(sent.Load(), "commands for 12,000 decisions")
		require.Less(t, sent.Load(), int64(30))
	})
}

// TestDryBucketWithoutRefill: while no refill comes, a caller has its budget and its context, as without
// leases.
func TestDryBucketWithoutRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{Budget: 100 * time.Millisecond})
		limit := l.must(t, Rule{Name: "user", Quota: 100_000, Window: time.Minute, Algorithm: TokenBucket, FailClosed: true})
		warm(t, l, Request{Limit: limit, Key: "k"})
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		for l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Leased { // until it is dry
		}
		time.Sleep(150 * time.Millisecond) // after a failure it does not ask at once
		for _, patience := range []time.Duration{time.Second, 10 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			began := time.Now()
			r := l.Allow(ctx, Request{Limit: limit, Key: "k"})
			require.Error(t, r.Err)
			require.False(t, r.Allowed)
			require.LessOrEqual(t, time.Since(began), min(patience, 100*time.Millisecond))
			cancel()
		}
	})
}
