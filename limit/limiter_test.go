package limit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/limit/internal/window"
)

func TestFixedWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		perMinute := l.must(t, Rule{Name: "user", Quota: 3, Window: time.Minute})
		atWindow(time.Minute)
		time.Sleep(10 * time.Second)
		for left := int64(2); left >= 0; left-- {
			r := l.Allow(t.Context(), Request{Limit: perMinute, Key: "42"})
			require.True(t, r.Allowed)
			require.NoError(t, r.Err)
			require.EqualValues(t, 3, r.Quota)
			require.Equal(t, left, r.Remaining)
			require.Zero(t, r.RetryAfter)
			require.InDelta(t, 50*time.Second, r.ResetAfter, float64(10*time.Millisecond))
			require.Equal(t, []Decision{r.Decision}, r.Each())
		}
		r := l.Allow(t.Context(), Request{Limit: perMinute, Key: "42"})
		require.False(t, r.Allowed)
		require.Zero(t, r.Remaining)
		require.Equal(t, r.ResetAfter, r.RetryAfter)
		require.EqualValues(t, 3, l.count(t, perMinute, "42"), "denied hits do not count")
		require.True(t, l.Allow(t.Context(), Request{Limit: perMinute, Key: "43"}).Allowed, "another key")
		time.Sleep(r.RetryAfter)
		require.True(t, l.Allow(t.Context(), Request{Limit: perMinute, Key: "42"}).Allowed, "the next window")
	})
}

// TestCosts: a hit that is too large for what remains leaves it for smaller ones.
func TestCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "bytes", Quota: 10, Window: time.Hour})
		require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 7}).Allowed)
		r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 5})
		require.False(t, r.Allowed)
		require.EqualValues(t, 3, r.Remaining)
		require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 3}).Allowed)
		r = l.Allow(t.Context(), Request{Limit: limit, Key: "other", Cost: 11})
		require.False(t, r.Allowed)
		require.Equal(t, Never, r.RetryAfter)
		require.Zero(t, l.count(t, limit, "other"), "Redis is not asked")
	})
}

// TestNegativeCount: of a key that a stranger has set below 0, no more remains than the limit.
func TestNegativeCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
			limit := l.must(t, Rule{Name: algorithm.String(), Quota: 10, Window: time.Hour, Algorithm: algorithm})
			l.set(t, limit, "k", -5)
			require.EqualValues(t, 10, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true}).Remaining)
			require.EqualValues(t, 7, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 3}).Remaining)
		}
	})
}

// TestAllOrNothing: a call that one limit denies counts for none of them, whether that limit is asked beside
// the others or, near its end, after them.
func TestAllOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{NearCache: -1})
		user := l.must(t, Rule{Name: "user", Quota: 100, Window: time.Hour, NoLease: true})
		path := l.must(t, Rule{Name: "path", Quota: 16, Window: time.Minute})
		for key, costs := range map[string][2]int64{"beside": {8, 9}, "after": {16, 1}} {
			atWindow(time.Hour)
			call := func(cost int64) Result {
				return l.Allow(t.Context(), Request{Limit: user, Key: key}, Request{Limit: path, Key: key, Cost: cost})
			}
			require.True(t, call(costs[0]).Allowed)
			for range 5 {
				r := call(costs[1])
				require.False(t, r.Allowed)
				require.Equal(t, []bool{true, false}, []bool{r.Each()[0].Allowed, r.Each()[1].Allowed}, key)
				require.Equal(t, r.Each()[1], r.Decision)
				require.EqualValues(t, 99, r.Each()[0].Remaining, "they are given back")
				require.EqualValues(t, 1, l.count(t, user, key))
				require.Equal(t, costs[0], l.count(t, path, key))
			}
		}
	})
}

// TestShadow: a limit in the shadow decides, and denies nothing.
func TestShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		shadow := l.must(t, Rule{Name: "shadow", Quota: 1, Window: time.Hour, Shadow: true})
		real := l.must(t, Rule{Name: "real", Quota: 5, Window: time.Hour})
		for i := range 5 {
			r := l.Allow(t.Context(), Request{Limit: shadow, Key: "k"}, Request{Limit: real, Key: "k"}, Request{Limit: shadow, Key: "k", Cost: 2})
			require.True(t, r.Allowed)
			require.Equal(t, i == 0, r.Each()[0].Allowed)
			require.Equal(t, Never, r.Each()[2].RetryAfter)
			require.Equal(t, r.Each()[1], r.Decision)
		}
		require.EqualValues(t, 1, l.count(t, shadow, "k"))
		require.EqualValues(t, 5, l.count(t, real, "k"))
	})
}

// TestWithoutRedis: within the budget, what cannot be decided fails open or closed.
func TestWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{Budget: 30 * time.Millisecond})
		open := l.must(t, Rule{Name: "open", Quota: 5, Window: time.Hour})
		closed := l.must(t, Rule{Name: "closed", Quota: 5, Window: time.Hour, FailClosed: true})
		require.True(t, l.Allow(t.Context(), Request{Limit: open, Key: "k"}, Request{Limit: closed, Key: "k"}).Allowed)
		lift := w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		began := time.Now()
		r := l.Allow(t.Context(), Request{Limit: open, Key: "k"})
		require.True(t, r.Allowed)
		require.ErrorIs(t, r.Err, redislanes.ErrUnknownOutcome)
		require.Equal(t, 30*time.Millisecond, time.Since(began))
		for range 2 { // the second has a context that was used before
			began = time.Now()
			require.Error(t, l.Allow(context.Background(), Request{Limit: open, Key: "k"}).Err)
			require.Equal(t, 30*time.Millisecond, time.Since(began), "the budget of a call whose context has no end")
			lift()
			time.Sleep(time.Minute) // it is connected again
			require.NoError(t, l.Allow(context.Background(), Request{Limit: open, Key: "k"}).Err)
			lift = w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		}
		r = l.Allow(t.Context(), Request{Limit: open, Key: "k2"}, Request{Limit: closed, Key: "k2"})
		require.False(t, r.Allowed)
		require.Error(t, r.Err)
		require.True(t, r.Each()[0].Allowed)
		require.False(t, r.Each()[1].Allowed)
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		began = time.Now()
		require.True(t, l.Allow(short, Request{Limit: open, Key: "k3"}).Allowed)
		require.Equal(t, 10*time.Millisecond, time.Since(began), "the context's end")
	})
}

// TestInstances: while Redis cannot decide, each process allows its share of the
// limit, and a call that another limit denies takes nothing of it.
func TestInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{Instances: 4})
		limit := l.must(t, Rule{Name: "r", Quota: 40, Window: time.Minute, FailClosed: true})
		small := l.must(t, Rule{Name: "s", Quota: 4, Window: time.Minute})
		require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 40}).Allowed)
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		time.Sleep(time.Hour)
		allow := func(requests ...Request) bool {
			r := l.Allow(t.Context(), requests...)
			for _, d := range r.Each() {
				require.Error(t, d.Err)
			}
			return r.Allowed
		}
		require.True(t, allow(Request{Limit: limit, Key: "k", Cost: 1}, Request{Limit: small, Key: "k", Cost: 1}))
		for range 5 {
			require.False(t, allow(Request{Limit: limit, Key: "k", Cost: 1}, Request{Limit: small, Key: "k", Cost: 1}))
		}
		require.True(t, allow(Request{Limit: limit, Key: "k", Cost: 9}), "what the other one denied was given back")
		require.False(t, allow(Request{Limit: limit, Key: "k", Cost: 2}))
		require.True(t, allow(Request{Limit: limit, Key: "k2", Cost: 10}))
		time.Sleep(30 * time.Second)
		require.True(t, allow(Request{Limit: limit, Key: "k", Cost: 5}), "half a share has come back")
		require.False(t, allow(Request{Limit: limit, Key: "k", Cost: 2}))

		time.Sleep(time.Minute)
		require.NoError(t, l.Close())
		require.True(t, allow(Request{Limit: limit, Key: "k", Cost: 1}, Request{Limit: small, Key: "k", Cost: 1}), "after Close")
		require.False(t, allow(Request{Limit: limit, Key: "k", Cost: 1}, Request{Limit: small, Key: "k", Cost: 1}))
		require.True(t, allow(Request{Limit: limit, Key: "k", Cost: 9}))
		require.False(t, allow(Request{Limit: limit, Key: "k", Cost: 2}))
	})
}

// An observer that keeps the outcomes.
type outcomes []string

func (o *outcomes) Decided(_ time.Duration, _ []Request, r Result) {
	for i := range r.Each() {
		*o = append(*o, r.Each()[i].Outcome())
	}
}

func (*outcomes) Hits(*Limit, string, int64) {}

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(outcomes)
		l := w.limiter(t, Config{Observer: seen})
		one := l.must(t, Rule{Name: "one", Quota: 1, Window: time.Hour})
		many := l.must(t, Rule{Name: "many", Quota: 100, Window: time.Hour, FailClosed: true})
		for i, requests := range [][]Request{
			{{Limit: one, Key: "k"}, {Limit: many, Key: "k"}}, {{Limit: one, Key: "k"}, {Limit: many, Key: "k"}},
			{{Limit: many, Key: "k"}, {Limit: one, Key: "k"}}, {{Limit: one}, {}},
		} {
			l.Allow(t.Context(), requests...)
			if i == 0 {
				time.Sleep(200 * time.Millisecond) // the near cache forgets it
			}
		}
		require.Equal(t, outcomes{"allowed", "allowed", "denied", "denied_by_other", "not_asked", "denied_near", "not_asked", "mistaken"}, *seen)
		*seen = nil
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		l.Allow(t.Context(), Request{Limit: one, Key: "k2"}, Request{Limit: many, Key: "k2"})
		require.Equal(t, outcomes{"failed_open", "failed_closed"}, *seen)
		*seen = nil
		gone, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, leave)
		l.Allow(gone, Request{Limit: one, Key: "k3"}, Request{Limit: many, Key: "k3"})
		l.Allow(gone, Request{Limit: one, Key: "k3"})
		require.Equal(t, outcomes{"canceled", "canceled", "canceled"}, *seen, "nobody waits for them")
		other := Decision{Err: context.Canceled}
		other.noteLeft(t.Context())
		require.Equal(t, "failed_closed", other.Outcome(), "the context of a token source has ended, and not the caller's")
	})
}

// TestGivenBackLater: a denied call gives back in the background what it cannot give back in its time.
func TestGivenBackLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(ledger)
		l := w.limiter(t, Config{Budget: 30 * time.Millisecond, NearCache: -1, Observer: seen})
		few := l.must(t, Rule{Name: "few", Quota: 16, Window: time.Hour})
		many := l.must(t, Rule{Name: "many", Quota: 100, Window: time.Hour})
		both := []Request{{Limit: few, Key: "k", Cost: 9}, {Limit: many, Key: "k"}}
		require.True(t, l.Allow(t.Context(), both...).Allowed)
		w.net.Impose("", "", simnet.Conditions{Latency: 10 * time.Millisecond}) // a round trip is 20.5 ms
		for _, patience := range []time.Duration{30 * time.Millisecond, 25 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			began := time.Now()
			require.False(t, l.Allow(ctx, both...).Allowed)
			require.Equal(t, patience, time.Since(began))
			time.Sleep(time.Second)
			require.EqualValues(t, 1, l.count(t, many, "k"))
		}
		require.EqualValues(t, 9, l.count(t, few, "k"))
		require.Equal(t, [4]int64{12, 2, 0}, seen.sums())
	})
}

// TestResult: which decision stands for the call, in any order of the requests.
func TestResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{NearCache: -1})
		minute := l.must(t, Rule{Name: "minute", Quota: 1, Window: time.Minute})
		hour := l.must(t, Rule{Name: "hour", Quota: 1, Window: time.Hour})
		wide := l.must(t, Rule{Name: "wide", Quota: 100, Window: time.Hour})
		atWindow(time.Hour)
		both := func(a, b Request) (Result, Result) {
			return l.Allow(t.Context(), a, b), l.Allow(t.Context(), b, a)
		}
		require.True(t, l.Allow(t.Context(), Request{Limit: minute, Key: "k", Cost: 1}, Request{Limit: hour, Key: "k", Cost: 1}).Allowed)
		one, other := both(Request{Limit: minute, Key: "k", Cost: 1}, Request{Limit: hour, Key: "k", Cost: 1})
		require.InDelta(t, time.Hour, one.RetryAfter, float64(time.Second))
		require.InDelta(t, time.Hour, other.RetryAfter, float64(time.Second))
		one, other = both(Request{Key: "k"}, Request{Limit: hour, Key: "k", Cost: 5})
		require.ErrorIs(t, one.Err, errNoLimit)
		require.ErrorIs(t, other.Err, errNoLimit)
		one, other = both(Request{Limit: wide, Key: "a", Cost: 1}, Request{Limit: wide, Key: "b", Cost: 10})
		require.EqualValues(t, 90, one.Remaining)
		require.EqualValues(t, 80, other.Remaining)
	})
}

func TestMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{})
		limit := l.must(t, Rule{Name: "r", Quota: 5, Window: time.Hour})
		for want, requests := range map[string][]Request{
			"Request.Limit is nil": {{Limit: limit, Key: "k"}, {Key: "k"}}, "was not made by": {{Limit: new(Limit), Key: "k"}},
			"Cost = -1 of limit ": {{Limit: limit, Key: "k", Cost: -1}, {Limit: limit, Key: "k"}},
		} {
			r := l.Allow(t.Context(), requests...)
			require.False(t, r.Allowed)
			require.ErrorContains(t, r.Err, want)
		}
		var none context.Context
		for _, requests := range [][]Request{{{Limit: limit, Key: "k"}}, nil} {
			r := l.Allow(none, requests...)
			require.ErrorContains(t, r.Err, "the context is nil")
			require.Equal(t, "mistaken", r.Outcome())
			require.False(t, r.Allowed)
			r = new(Limiter).Allow(t.Context(), requests...)
			require.ErrorIs(t, r.Err, errNotMade)
			require.Equal(t, "mistaken", r.Outcome())
			require.False(t, r.Allowed)
		}
		require.True(t, l.Allow(t.Context()).Allowed)
		require.Zero(t, l.count(t, limit, "k"))
		_, err := New(nil)
		require.ErrorContains(t, err, "the client is nil")
		_, err = New(new(cluster.Client))
		require.ErrorContains(t, err, "the client was not made with cluster.Config.New")
		_, err = Config{NearCache: 1e9}.New(w.client)
		require.ErrorContains(t, err, "Config.NearCache = 1000000000: must be at most")
		_, err = Config{Budget: -1}.New(w.client)
		require.ErrorContains(t, err, "Config.Budget = -1ns")
		_, err = Config{Budget: 100}.New(w.client) // meant as milliseconds
		require.ErrorContains(t, err, "Config.Budget = 100ns: must be 1ms to 1h0m0s")
		for _, unmade := range []*Limiter{nil, {}} { // a program that goes on after New's error
			result := unmade.Allow(t.Context(), Request{Limit: limit, Key: "k"})
			require.ErrorContains(t, result.Err, "was not made by New")
			require.False(t, result.Allowed)
			require.Error(t, unmade.Close())
		}
		_, err = Rule{Name: "a", Quota: 1, Window: time.Second}.New((*Limiter)(nil))
		require.ErrorContains(t, err, "was not made by New")
		for want, rule := range map[string]Rule{
			`Rule.Name = ""`: {Quota: 1, Window: time.Second}, `Rule.Name = "a:b"`: {Name: "a:b", Window: time.Second},
			"Quota = -1": {Name: "a", Quota: -1, Window: time.Second}, "Quota = 9000000000000": {Name: "a", Quota: 9e12, Window: time.Second}, "Window = 1ms": {Name: "a", Window: time.Millisecond}, "a number without a unit counts nanoseconds": {Name: "a", Window: 60},
			"Algorithm = Algorithm(7)": {Name: "a", Window: time.Second, Algorithm: 7}, "Burst = 2: only a": {Name: "a", Window: time.Second, Burst: 2},
			"Quota = 0: must be 1 to": {Name: "a", Window: time.Second, Algorithm: TokenBucket}, "Burst = -1": {Name: "a", Quota: 1, Window: time.Second, Algorithm: TokenBucket, Burst: -1},
		} {
			_, err := rule.New(l)
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Err, redislanes.ErrClosed)
	})
}

// TestSlidingWindow against a model: one caller at random times, compared with the
// definition.
func TestSlidingWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{NearCache: -1})
		const limit, length = 20, 10 * time.Second
		sliding := l.must(t, Rule{Name: "s", Quota: limit, Window: length, Algorithm: SlidingWindow})
		random := rand.New(rand.NewPCG(1, 2))
		hits := make(map[int64]int64) // by window
		allowed, denied := 0, 0
		for range 1500 {
			time.Sleep(time.Duration(random.Int64N(int64(900 * time.Millisecond))))
			cost := 1 + random.Int64N(3)
			w := window.At(time.Now(), length)
			weight := float64(w.Left()) / float64(length)
			estimate := int64(math.Floor(float64(hits[w.Number-1])*weight)) + hits[w.Number] + cost
			r := l.Allow(t.Context(), Request{Limit: sliding, Key: "k", Cost: cost})
			require.NoError(t, r.Err)
			require.Equal(t, estimate <= limit, r.Allowed, "%d", estimate)
			if r.Allowed {
				allowed++
				hits[w.Number] += cost
				require.Equal(t, limit-estimate, r.Remaining)
			} else {
				denied++
				require.Equal(t, limit-estimate+cost, r.Remaining)
				require.Positive(t, r.RetryAfter)
			}
		}
		require.Greater(t, allowed, 100)
		require.Greater(t, denied, 100)
	})
}

// TestWindowsOfNearlyOneLength share keys. docs/limits.md says which may.
func TestWindowsOfNearlyOneLength(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	apart := func(now time.Time, a, b time.Duration) int64 {
		return window.At(now, a).Number - window.At(now, b).Number
	}
	require.Zero(t, apart(time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC), 365*day, 366*day))
	for now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); now.Year() < 2046; now = now.Add(13 * time.Hour) {
		for length, differs := range map[time.Duration]time.Duration{366 * day: 7 * day, 30 * day: 90 * time.Minute, day: 5 * time.Second} {
			require.Positive(t, apart(now, length-differs, length), "%v at %v", length, now)
			require.Greater(t, apart(now, length-2*differs, length), int64(1), "%v at %v", length, now)
		}
	}
}

// TestSlidingWindowBounds: how many hits a time as long as a window has, at most.
func TestSlidingWindowBounds(t *testing.T) {
	for name, c := range map[string]struct {
		limit  int
		before func(i int) time.Duration // when hit i of the previous window comes
		most   int
	}{
		"at its end":               {10, func(int) time.Duration { return 59900 * time.Millisecond }, 20},
		"at its beginning":         {10, func(int) time.Duration { return 0 }, 10},
		"evenly":                   {10, func(i int) time.Duration { return time.Duration(6*i+5) * time.Second }, 11},
		"at its end, a limit of 1": {1, func(int) time.Duration { return 59900 * time.Millisecond }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{NearCache: -1})
				sliding := l.must(t, Rule{Name: "s", Quota: int64(c.limit), Window: time.Minute, Algorithm: SlidingWindow})
				atWindow(time.Minute)
				began := time.Now()
				var hits []time.Duration
				hit := func() {
					if l.Allow(t.Context(), Request{Limit: sliding, Key: "k"}).Allowed {
						hits = append(hits, time.Since(began))
					}
				}
				for i := range c.limit {
					time.Sleep(c.before(i) - time.Since(began))
					hit()
				}
				require.Len(t, hits, c.limit)
				time.Sleep(time.Minute - time.Since(began))
				for time.Since(began) < 2*time.Minute-100*time.Millisecond {
					hit()
					time.Sleep(50 * time.Millisecond)
				}
				most, first := 0, 0
				for i, at := range hits {
					for hits[first] <= at-time.Minute {
						first++
					}
					most = max(most, i-first+1)
				}
				require.Equal(t, c.most, most)
				require.Len(t, hits, 2*c.limit)
			})
		})
	}
}

// TestNearCache: hits that do not fit by the server's last word cost no command. It is asked again after the budget.
func TestNearCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "r", Quota: 10, Window: time.Minute})
		other := l.must(t, Rule{Name: "o", Quota: 10, Window: time.Minute})
		atWindow(time.Minute)
		dear := Request{Limit: limit, Key: "k", Cost: 3}
		require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 8}).Allowed)
		time.Sleep(50 * time.Millisecond)
		r := l.Allow(t.Context(), Request{Limit: other, Key: "k"}, dear)
		require.False(t, r.Allowed)
		require.True(t, r.Near)
		require.InDelta(t, time.Minute-50*time.Millisecond, r.RetryAfter, float64(10*time.Millisecond))
		require.Equal(t, r.RetryAfter, r.ResetAfter)
		require.Zero(t, l.count(t, other, "k"))
		require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 1}).Allowed, "it fits")
		time.Sleep(200 * time.Millisecond)
		r = l.Allow(t.Context(), dear)
		require.False(t, r.Allowed || r.Near)
		require.True(t, l.Allow(t.Context(), dear).Near)
		atWindow(time.Minute)
		require.True(t, l.Allow(t.Context(), dear).Allowed)
		never := newWorld(t).limiter(t, Config{NearCache: -1})
		dear.Limit = never.must(t, Rule{Name: "r", Quota: 4, Window: time.Minute})
		require.True(t, never.Allow(t.Context(), dear).Allowed)
		for range 2 {
			r = never.Allow(t.Context(), dear)
			require.False(t, r.Allowed || r.Near)
		}
	})
}

// TestSameKeyTwice: requests of a call on one key can never be allowed if together they
// cost more than the limit.
func TestSameKeyTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		for _, a := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
			limit := l.must(t, Rule{Name: a.String(), Quota: 50, Window: time.Hour, Algorithm: a})
			atWindow(time.Hour)
			for _, n := range []int{2, 50, 51} { // requests
				requests := make([]Request, n)
				for i := range requests {
					requests[i] = Request{Limit: limit, Key: "k", Cost: 1}
				}
				requests[0].Cost = int64(52 - n)
				r := l.Allow(t.Context(), requests...)
				require.False(t, r.Allowed)
				require.Equal(t, Never, r.RetryAfter, "%v, %d requests", a, n)
				require.Zero(t, r.Each()[0].RetryAfter)
			}
			r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: math.MaxInt64}, Request{Limit: limit, Key: "k", Cost: math.MaxInt64}, Request{Limit: limit, Key: "k", Cost: 1})
			require.Equal(t, Never, r.Each()[1].RetryAfter)
			r = l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 25}, Request{Limit: limit, Key: "other", Cost: 50}, Request{Limit: limit, Key: "k", Cost: 25})
			require.True(t, r.Allowed, "%v: %+v", a, r)
		}
		dark := l.must(t, Rule{Name: "shared", Quota: 5, Window: time.Hour, Shadow: true})
		limit := l.must(t, Rule{Name: "shared", Quota: 12, Window: time.Hour})
		for _, n := range []int{1, 50} { // of requests that are not asked about
			requests := slices.Repeat([]Request{{Limit: dark, Key: "k", Cost: 10}}, n)
			r := l.Allow(t.Context(), append(requests, Request{Limit: limit, Key: "k", Cost: 5})...)
			require.True(t, r.Allowed, "what is not counted costs nothing: %+v", r)
			require.Equal(t, Never, r.Each()[0].RetryAfter)
		}
	})
}

// TestLongKeys: nothing is remembered of a long key.
func TestLongKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "r", Quota: 1, Window: time.Hour})
		long := strings.Repeat("k", longKey+1)
		for _, key := range []string{long, long + "k", long[1:]} {
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: key}).Allowed)
			r := l.Allow(t.Context(), Request{Limit: limit, Key: key})
			require.Equal(t, []bool{false, len(key) <= longKey}, []bool{r.Allowed, r.Near})
		}
	})
}

// TestRetryAfter: a hit that comes when its predecessor was told is allowed, and one
// that comes a little earlier is not.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		random := rand.New(rand.NewPCG(3, 4))
		for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
			limit := l.must(t, Rule{Name: "r", Quota: 50, Window: time.Minute, Algorithm: algorithm})
			for i := range 80 {
				key := algorithm.String() + string(rune('a'+i%26)) + string(rune('a'+i/26))
				for range 1 + random.IntN(3) { // fill it, perhaps in two windows
					l.Allow(t.Context(), Request{Limit: limit, Key: key, Cost: 1 + random.Int64N(50)})
					time.Sleep(time.Duration(random.Int64N(int64(40 * time.Second))))
				}
				cost := 1 + random.Int64N(50)
				r := l.Allow(t.Context(), Request{Limit: limit, Key: key, Cost: cost})
				if r.Allowed {
					continue
				}
				const trip = 10 * time.Millisecond // the decision is as of a moment before
				if r.RetryAfter > trip {
					time.Sleep(r.RetryAfter - trip)
					assert.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: key, Cost: cost}).Allowed, "%s: %v", key, r)
				}
				time.Sleep(trip)
				assert.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: key, Cost: cost}).Allowed, "%s: %v", key, r)
			}
		}
	})
}

// TestNeverMoreNeverFewer: with many callers, costs and limits at a time, no window
// allows more than its limit; and one with enough demand allows all of it.
func TestNeverMoreNeverFewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{Budget: time.Second})
		limits := []*Limit{
			l.must(t, Rule{Name: "a", Quota: 100, Window: time.Second}), l.must(t, Rule{Name: "b", Quota: 60, Window: time.Second}),
			l.must(t, Rule{Name: "c", Quota: 1000, Window: 10 * time.Second}),
		}
		atWindow(10 * time.Second)
		var mu sync.Mutex
		allowed := make(map[[3]any]int64)
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), 5))
				for end := time.Now().Add(4900 * time.Millisecond); time.Now().Before(end); {
					var requests []Request
					for _, limit := range limits {
						if random.IntN(2) == 0 {
							requests = append(requests, Request{Limit: limit, Key: string(rune('x' + random.IntN(2))), Cost: 1 + random.Int64N(3)})
						}
					}
					now := time.Now()
					r := l.Allow(t.Context(), requests...)
					if r.Allowed {
						mu.Lock()
						for _, q := range requests {
							allowed[[3]any{q.Limit, q.Key, window.At(now, q.Limit.rule.Window).Number}] += q.Cost
						}
						mu.Unlock()
					}
					assert.NoError(t, r.Err)
					time.Sleep(time.Duration(random.Int64N(int64(2 * time.Millisecond))))
				}
			})
		}
		callers.Wait()
		full := 0
		for at, n := range allowed {
			limit := at[0].(*Limit).rule
			require.LessOrEqual(t, n, limit.Quota, "%v", at)
			if n == limit.Quota {
				full++
			}
		}
		require.Greater(t, full, 10, "of %d windows", len(allowed))
	})
}

// TestLimiterPrints its client, for every verb: fmt would read fields that are changing.
func TestLimiterPrints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			require.Regexp(t, `^limit\.Limiter\{cluster\.Client\{\[[0-9.: ]+\]\}\}$`, fmt.Sprintf(verb, l))
		}
		require.Equal(t, "limit.Limiter(nil)", fmt.Sprint((*Limiter)(nil)))
		require.Equal(t, "limit.Limiter{cluster.Client(nil)}", fmt.Sprint(new(Limiter)))
	})
}
