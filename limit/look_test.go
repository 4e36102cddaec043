package limit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// TestLook: it says what a hit would be told, and no hit is told anything else
// because of it.
func TestLook(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{NearCache: -1})
				limit := l.must(t, Rule{Name: "user", Quota: 5, Window: time.Minute, Algorithm: algorithm})
				atWindow(time.Minute)
				for used, remaining := int64(0), int64(5); ; used, remaining = used+1, remaining-1 {
					for range 3 {
						r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 2, Look: true})
						require.NoError(t, r.Err)
						require.Equal(t, remaining >= 2, r.Allowed)
						require.Equal(t, remaining, r.Remaining)
						require.Equal(t, !r.Allowed, r.RetryAfter > 0)
						require.Equal(t, used, l.count(t, limit, "k"))
					}
					if remaining == 0 {
						break
					}
					require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Allowed)
				}
			})
		})
	}
}

// TestLookWritesNothing: no key is created, or lives longer.
func TestLookWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{})
		for _, a := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
			limit := l.must(t, Rule{Name: a.String(), Quota: 50, Window: time.Hour, Algorithm: a})
			r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true})
			require.NoError(t, r.Err)
			require.True(t, r.Allowed)
			require.EqualValues(t, 50, r.Remaining)
			require.Zero(t, w.keys(t))
		}
	})
}

// TestLookWithOthers: a look that fails denies its call, and one of several requests
// on a key takes nothing from the others.
func TestLookWithOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "user", Quota: 5, Window: time.Minute})
		banned := l.must(t, Rule{Name: "banned", Quota: 1, Window: time.Minute})
		both := []Request{{Limit: limit, Key: "k"}, {Limit: banned, Key: "k", Look: true}}
		atWindow(time.Minute)
		require.True(t, l.Allow(t.Context(), both...).Allowed)
		require.True(t, l.Allow(t.Context(), both...).Allowed, "a look is no hit")
		require.True(t, l.Allow(t.Context(), Request{Limit: banned, Key: "k"}).Allowed)
		r := l.Allow(t.Context(), both...)
		require.False(t, r.Allowed)
		require.Positive(t, r.RetryAfter)
		require.EqualValues(t, 2, l.count(t, limit, "k"), "what was counted is taken back")
		require.True(t, l.Allow(t.Context(), both...).Each()[1].Near, "a look's answer is remembered")

		look := Request{Limit: limit, Key: "k", Cost: 3, Look: true}
		r = l.Allow(t.Context(), look, look, Request{Limit: limit, Key: "k", Cost: 3}, Request{Limit: limit, Key: "k2", Cost: 5})
		require.True(t, r.Allowed)
		require.EqualValues(t, 3, r.Each()[0].Remaining)
		require.Zero(t, r.Each()[2].Remaining)
	})
}

// TestLookBesideHits: a look does not see the hits of its own call, wherever it is among them.
func TestLookBesideHits(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			l := newWorld(t).limiter(t, Config{})
			limit := l.must(t, Rule{Name: "user", Quota: 5, Window: time.Minute, Algorithm: algorithm})
			atWindow(time.Minute)
			look, hit := Request{Limit: limit, Key: "k", Cost: 5, Look: true}, Request{Limit: limit, Key: "k", Cost: 2}
			r := l.Allow(t.Context(), hit, look)
			require.True(t, r.Allowed, algorithm)
			require.EqualValues(t, 3, r.Each()[0].Remaining, algorithm)
			require.EqualValues(t, 5, r.Each()[1].Remaining, algorithm)
			look.Cost = 3
			r = l.Allow(t.Context(), look, hit, look)
			require.True(t, r.Allowed, algorithm)
			require.EqualValues(t, 3, r.Each()[2].Remaining, algorithm)
		})
	}
}

func TestLookWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{Instances: 1, Budget: 50 * time.Millisecond})
		limit := l.must(t, Rule{Name: "user", Quota: 2, Window: time.Hour})
		w.net.Impose("", "", simnet.Conditions{Latency: time.Minute})
		look, hit := Request{Limit: limit, Key: "k", Look: true}, Request{Limit: limit, Key: "k"}
		for range 5 {
			require.True(t, l.Allow(t.Context(), look).Allowed)
		}
		require.True(t, l.Allow(t.Context(), hit).Allowed)
		require.True(t, l.Allow(t.Context(), hit).Allowed)
		require.False(t, l.Allow(t.Context(), look).Allowed)
	})
}

// TestLookBesideALease: what a look says is exact while a lease decides about the call's hits, or about those
// of other calls.
func TestLookBesideALease(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		for _, together := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				limit := l.must(t, Rule{Name: "r", Quota: 100_000, Window: mostWindow, Algorithm: algorithm})
				look, hit := Request{Limit: limit, Key: "k", Look: true}, Request{Limit: limit, Key: "k", Cost: 5}
				leased, wrong := 0, 0
				for used := int64(0); used < 3000; used += 5 {
					var r Result
					var d Decision
					if together {
						r = l.Allow(t.Context(), look, hit)
						d, r.Decision = r.Each()[0], r.Each()[1]
					} else {
						d, r = l.Allow(t.Context(), look).Decision, l.Allow(t.Context(), hit)
					}
					require.True(t, r.Allowed)
					if d.Remaining != 100_000-used {
						wrong++
					}
					if r.Leased {
						leased++
					}
					time.Sleep(4 * time.Millisecond)
				}
				require.Greater(t, leased, 300)
				require.Zero(t, wrong, "%v, in one call: %v", algorithm, together)
			})
		}
	}
}
