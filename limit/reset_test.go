package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/pipeline"
)

// TestReset: after it, the full limit of the key is available, and others are as they were.
func TestReset(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		for _, counted := range []bool{false, true} {
			t.Run(fmt.Sprint(algorithm, counted), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newWorld(t).limiter(t, Config{})
					limit := l.must(t, Rule{Name: "r", Quota: 5, Window: time.Minute, Algorithm: algorithm, CountDenied: counted})
					atWindow(time.Minute)
					for range 2 { // windows
						for _, key := range []string{"k", "other"} {
							l.Allow(t.Context(), Request{Limit: limit, Key: key, Cost: 5})
							require.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: key, Cost: 5}).Allowed)
						}
						require.NoError(t, l.Reset(t.Context(), limit, "k"))
						r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 5})
						require.True(t, r.Allowed)
						require.NoError(t, r.Err)
						require.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: "other", Cost: 5}).Allowed)
						time.Sleep(time.Minute)
					}
					require.NoError(t, l.Reset(t.Context(), limit, "k"))
					require.NoError(t, l.Reset(t.Context(), limit, "k"))
					require.EqualValues(t, 5, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true}).Remaining)
				})
			})
		}
	}
}

// TestResetWithoutRedis tells that nothing may have been forgotten, and forgets what this
// process has.
func TestResetWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{Instances: 1})
		limit := l.must(t, Rule{Name: "r", Quota: 5, Window: time.Hour})
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		all := Request{Limit: limit, Key: "k", Cost: 5}
		require.True(t, l.Allow(t.Context(), all).Allowed)
		require.False(t, l.Allow(t.Context(), all).Allowed)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		require.Error(t, l.Reset(ctx, limit, "k"))
		require.LessOrEqual(t, time.Since(began), time.Second)
		require.True(t, l.Allow(t.Context(), all).Allowed)
	})
}

// TestResetForgetsReturns: hits that wait to be given back were forgotten.
func TestResetForgetsReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "r", Quota: 5, Window: time.Hour})
		atWindow(time.Hour)
		for _, key := range []string{"k", "other"} {
			hit := pipeline.Hit{Prefix: limit.heads(windowAt(time.Now(), time.Hour).number).now, Key: key, By: -3, TTL: time.Hour}
			l.backlog.add(owed{of: limit, cost: 3, until: time.Now().Add(time.Hour), hit: hit}, errors.Join(redislanes.ErrNotSent))
		}
		require.NoError(t, l.Reset(t.Context(), limit, "k"))
		time.Sleep(time.Minute)
		require.Zero(t, l.count(t, limit, "k"))
		require.EqualValues(t, -3, l.count(t, limit, "other"))
	})
}

// TestResetDuringRefills: hits of refills that Reset has forgotten are neither used nor given back, nor
// counted later.
func TestResetDuringRefills(t *testing.T) {
	for step := range 24 {
		wait, beside := time.Duration(step%12)*100*time.Microsecond, step >= 12
		t.Run(fmt.Sprint(wait, beside), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{NearCache: -1})
				hit := Request{Limit: l.must(t, Rule{Name: "r", Quota: 1000, Window: time.Hour}), Key: "k"}
				atWindow(time.Hour)
				warm(t, l, hit)
				k := l.leases.find(hit.Limit, "k")
				for asking := false; !asking; {
					l.Allow(t.Context(), hit)
					k.mu.Lock()
					asking = k.refilled != nil
					k.mu.Unlock()
				}
				time.Sleep(wait) // a refill takes 500 µs
				var callers sync.WaitGroup
				during := make(chan struct{})
				var counted int64 // perhaps before the Reset, and not forgotten
				if beside {
					callers.Go(func() { // makes another lease, that Reset may forget, too
						for {
							select {
							case <-during:
								return
							default:
							}
							if l.Allow(t.Context(), hit).Allowed {
								counted++
							}
						}
					})
				}
				require.NoError(t, l.Reset(t.Context(), hit.Limit, "k"))
				close(during)
				callers.Wait()
				used := int64(0)
				for range 2 {
					for l.Allow(t.Context(), hit).Allowed {
						used++
					}
					time.Sleep(10 * time.Second)
				}
				t.Log(used, counted)
				require.LessOrEqual(t, used, int64(1000))
				if require.GreaterOrEqual(t, used+counted, int64(1000)); !beside {
					require.EqualValues(t, 1000, used)
				}
			})
		})
	}
}

func TestResetMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{NearCache: -1})
		limit := l.must(t, Rule{Name: "r", Quota: 5, Window: time.Hour})
		require.ErrorIs(t, (*Limiter)(nil).Reset(t.Context(), limit, "k"), errNotMade)
		require.ErrorContains(t, l.Reset(t.Context(), nil, "k"), "the Limit is nil")
		var none context.Context
		require.ErrorIs(t, l.Reset(none, limit, "k"), errNilContext)
		require.NoError(t, l.Reset(t.Context(), limit, "k"))
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Reset(t.Context(), limit, "k"), redislanes.ErrClosed)
	})
}
