package limit

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/turns"
)

// TestHitsTravel: hits of a few callers at once take one trip if their key is far from its limit. Near the limit one
// hit leads and the others wait, as they do if there are many. All hits that wait travel together.
func TestHitsTravel(t *testing.T) {
	const trip = 500 * time.Microsecond
	for name, c := range map[string]struct {
		quota        int64
		callers      int
		first, later int // calls that are allowed after one trip, and later
	}{
		"far, few":   {1_000_000, mostAlone, mostAlone, 0},
		"far, many":  {1_000_000, 100, mostAlone, 100 - mostAlone},
		"near, few":  {50, mostAlone, 1, mostAlone - 1},
		"near, many": {50, 100, 1, 48},
	} {
		for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
			t.Run(name+" "+algorithm.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newWorld(t).limiter(t, Config{})
					limit := l.must(t, Rule{Name: "r", Quota: c.quota, Window: time.Hour, Algorithm: algorithm, NoLease: true})
					require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
					var first, later atomic.Int64
					var wg sync.WaitGroup
					for range c.callers {
						wg.Go(func() {
							began := time.Now()
							switch allowed := l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed; {
							case allowed && time.Since(began) == trip:
								first.Add(1)
							case allowed:
								later.Add(1)
							}
						})
					}
					wg.Wait()
					require.EqualValues(t, c.first, first.Load())
					require.EqualValues(t, c.later, later.Load())
				})
			})
		}
	}
}

// TestLateDelivery: a hit leads if none has left for a while, also beside a goroutine that carries hits. That one no
// longer counts: the reply to the hit that leads has those that wait travel.
func TestLateDelivery(t *testing.T) {
	const asked = time.Second
	for _, carried := range []bool{false, true} {
		c := &count{travels: 1, carried: carried, asked: asked}
		require.False(t, c.join(&hit{}, asked+turns.LateAfter-1))
		require.Equal(t, carried, c.carried)
		require.True(t, c.join(&hit{}, asked+turns.LateAfter))
		require.False(t, c.carried)
		require.EqualValues(t, 2, c.travels)
		require.Len(t, c.waiting, 1)
	}
}
