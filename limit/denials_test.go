package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

// commands counts the commands of a world.
type commands struct{ atomic.Int64 }

func (c *commands) trace() *redislanes.Trace {
	return &redislanes.Trace{EndRequest: func(context.Context, redislanes.RequestStart, redislanes.RequestInfo) { c.Add(1) }}
}

// TestManyCallersOfAFullKey are denied together, by the next word of the server.
func TestManyCallersOfAFullKey(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			sent := new(commands)
			l := newTracedWorld(t, sent.trace()).limiter(t, Config{NearCache: -1})
			limit := l.must(t, Rule{Name: "user", Quota: 60, Window: time.Hour, Algorithm: algorithm})
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 60}).Allowed)
			sent.Store(0)
			began := time.Now()
			var all sync.WaitGroup
			for range 1000 {
				all.Go(func() { assert.Equal(t, "denied", l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Outcome()) })
			}
			all.Wait()
			require.LessOrEqual(t, sent.Load(), int64(2), algorithm)
			require.LessOrEqual(t, time.Since(began), 2*time.Millisecond, "two round trips")
		})
	}
}
