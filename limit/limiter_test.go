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
	"github.com/redislanes/redislanes/pipeline"
)

// atWindow sleeps until a window of the length begins.
func atWindow(length time.Duration) {
	time.Sleep(windowAt(time.Now(), length).left())
}

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
			require.Equal(t, []Decision{r.Decision}, r.Each)
		}
		r := l.Allow(t.Context(), Request{Limit: perMinute, Key: "42"})
		require.False(t, r.Allowed)
		require.Zero(t, r.Remaining)
		require.Equal(t, r.ResetAfter, r.RetryAfter)
		require.EqualValues(t, 3, l.count(t, perMinute, "42"), "what was denied is taken back")
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

// TestLostCount: what is taken back from a key that was lost with its node leaves less than
// nothing, of which no more remains than the limit.
func TestLostCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
			limit := l.must(t, Rule{Name: algorithm.String(), Quota: 10, Window: time.Hour, Algorithm: algorithm})
			a := ask{limit: limit, window: windowAt(time.Now(), time.Hour)}
			hits := []pipeline.Hit{{Prefix: limit.heads(a.number()).now, Key: "k", By: -5, TTL: time.Hour}}
			require.NoError(t, l.counters.Hit(t.Context(), hits))
			look := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Look: true})
			require.EqualValues(t, 10, look.Remaining)
			require.EqualValues(t, 7, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 3}).Remaining)
		}
	})
}

// TestAllOrNothing: a call that one limit denies counts for none of them.
func TestAllOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{NearCache: -1})
		user := l.must(t, Rule{Name: "user", Quota: 100, Window: time.Hour, NoLease: true})
		path := l.must(t, Rule{Name: "path", Quota: 2, Window: time.Minute})
		seen := l.must(t, Rule{Name: "seen", Quota: 100, Window: time.Hour, CountDenied: true})
		all := func() Result {
			return l.Allow(t.Context(), Request{Limit: user, Key: "u"}, Request{Limit: path, Key: "p"}, Request{Limit: seen, Key: "s"})
		}
		atWindow(time.Hour)
		for range 2 {
			require.True(t, all().Allowed)
		}
		for range 5 {
			r := all()
			require.False(t, r.Allowed)
			require.Equal(t, []bool{true, false, true}, []bool{r.Each[0].Allowed, r.Each[1].Allowed, r.Each[2].Allowed})
			require.Equal(t, r.Each[1], r.Decision)
			require.EqualValues(t, 98, r.Each[0].Remaining, "it is taken back")
		}
		require.EqualValues(t, 2, l.count(t, user, "u"))
		require.EqualValues(t, 2, l.count(t, path, "p"))
		require.EqualValues(t, 7, l.count(t, seen, "s"), "CountDenied")
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
			require.Equal(t, i == 0, r.Each[0].Allowed)
			require.Equal(t, Never, r.Each[2].RetryAfter)
			require.Equal(t, r.Each[1], r.Decision)
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
		require.True(t, r.Each[0].Allowed)
		require.False(t, r.Each[1].Allowed)
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
			for _, d := range r.Each {
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
	for i := range r.Each {
		*o = append(*o, r.Each[i].Outcome())
	}
}

func (*outcomes) Hits(*Limit, string, int64) {}

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(outcomes)
		l := w.limiter(t, Config{Observer: seen})
		one := l.must(t, Rule{Name: "one", Quota: 1, Window: time.Hour})
		many := l.must(t, Rule{Name: "many", Quota: 100, Window: time.Hour, FailClosed: true})
		for _, requests := range [][]Request{
			{{Limit: one, Key: "k"}, {Limit: many, Key: "k"}}, {{Limit: one, Key: "k"}, {Limit: many, Key: "k"}},
			{{Limit: many, Key: "k"}, {Limit: one, Key: "k"}}, {{Limit: one}, {}},
		} {
			l.Allow(t.Context(), requests...)
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

// TestTakenBackLater: what a call owes is taken back behind its back if its time is
// up, also if the caller has gone.
func TestTakenBackLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(ledger)
		l := w.limiter(t, Config{Budget: 30 * time.Millisecond, NearCache: -1, Observer: seen})
		none := l.must(t, Rule{Name: "none", Quota: 1, Window: time.Hour})
		many := l.must(t, Rule{Name: "many", Quota: 100, Window: time.Hour})
		require.True(t, l.Allow(t.Context(), Request{Limit: none, Key: "k"}).Allowed)
		w.net.Impose("", "", simnet.Conditions{Latency: 10 * time.Millisecond}) // a round trip is 20.5 ms
		began := time.Now()
		require.False(t, l.Allow(t.Context(), Request{Limit: none, Key: "k"}, Request{Limit: many, Key: "k"}).Allowed)
		require.Equal(t, 30*time.Millisecond, time.Since(began))
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		defer cancel()
		began = time.Now()
		require.False(t, l.Allow(ctx, Request{Limit: none, Key: "k"}, Request{Limit: many, Key: "k"}).Allowed)
		require.Equal(t, 25*time.Millisecond, time.Since(began))
		time.Sleep(time.Second)
		require.EqualValues(t, 1, l.count(t, none, "k"))
		require.Zero(t, l.count(t, many, "k"))
		require.Equal(t, [5]int64{4, 3, 0}, seen.sums())
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
		const limit, window = 20, 10 * time.Second
		sliding := l.must(t, Rule{Name: "s", Quota: limit, Window: window, Algorithm: SlidingWindow})
		random := rand.New(rand.NewPCG(1, 2))
		hits := make(map[int64]int64) // by window
		allowed, denied := 0, 0
		for range 1500 {
			time.Sleep(time.Duration(random.Int64N(int64(900 * time.Millisecond))))
			cost := 1 + random.Int64N(3)
			w := windowAt(time.Now(), window)
			weight := float64(w.left()) / float64(window)
			estimate := int64(math.Floor(float64(hits[w.number-1])*weight)) + hits[w.number] + cost
			r := l.Allow(t.Context(), Request{Limit: sliding, Key: "k", Cost: cost})
			require.NoError(t, r.Err)
			require.Equal(t, estimate <= limit, r.Allowed, "%d", estimate)
			if r.Allowed {
				allowed++
				hits[w.number] += cost
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
		return windowAt(now, a).number - windowAt(now, b).number
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

// TestNearCache: a key that is over its limit costs no command until its window
// ends, for hits that cost no less. Where denied hits are taken back, it is asked
// about again after the budget.
func TestNearCache(t *testing.T) {
	for _, counted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newWorld(t).limiter(t, Config{})
			limit := l.must(t, Rule{Name: "r", Quota: 10, Window: time.Minute, CountDenied: counted})
			other := l.must(t, Rule{Name: "o", Quota: 10, Window: time.Minute})
			atWindow(time.Minute)
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 8}).Allowed)
			r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 3})
			require.False(t, r.Allowed || r.Near)
			time.Sleep(50 * time.Millisecond)
			r = l.Allow(t.Context(), Request{Limit: other, Key: "k", Cost: 1}, Request{Limit: limit, Key: "k", Cost: 3})
			require.False(t, r.Allowed)
			require.True(t, r.Near)
			require.InDelta(t, time.Minute-50*time.Millisecond, r.RetryAfter, float64(10*time.Millisecond))
			require.Equal(t, r.RetryAfter, r.ResetAfter)
			require.Zero(t, l.count(t, other, "k"))
			r = l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 2})
			require.False(t, r.Near, "it may be allowed")
			require.Equal(t, !counted, r.Allowed)
			time.Sleep(200 * time.Millisecond)
			r = l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 3})
			require.False(t, r.Allowed)
			require.Equal(t, counted, r.Near)
			atWindow(time.Minute)
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 3}).Allowed)
		})
	}
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
				require.Zero(t, r.Each[0].RetryAfter)
			}
			r := l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: math.MaxInt64}, Request{Limit: limit, Key: "k", Cost: math.MaxInt64}, Request{Limit: limit, Key: "k", Cost: 1})
			require.Equal(t, Never, r.Each[1].RetryAfter)
			require.Zero(t, r.Each[2].RetryAfter, "those before it are not asked about")
			r = l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 25}, Request{Limit: limit, Key: "other", Cost: 50}, Request{Limit: limit, Key: "k", Cost: 25})
			require.True(t, r.Allowed, "%v: %+v", a, r)
		}
		dark := l.must(t, Rule{Name: "shared", Quota: 5, Window: time.Hour, Shadow: true})
		limit := l.must(t, Rule{Name: "shared", Quota: 12, Window: time.Hour})
		for _, n := range []int{1, 50} { // of requests that are not asked about
			requests := slices.Repeat([]Request{{Limit: dark, Key: "k", Cost: 10}}, n)
			r := l.Allow(t.Context(), append(requests, Request{Limit: limit, Key: "k", Cost: 5})...)
			require.True(t, r.Allowed, "what is not counted costs nothing: %+v", r)
			require.Equal(t, Never, r.Each[0].RetryAfter)
		}
	})
}

// TestLongKeys: what is remembered of a long key is short, and of that key alone.
func TestLongKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		limit := l.must(t, Rule{Name: "r", Quota: 1, Window: time.Hour, CountDenied: true})
		atWindow(time.Hour)
		long := strings.Repeat("k", longKey+1)
		for _, key := range []string{long, long + "k", long[1:]} {
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: key, Cost: 1}).Allowed)
			require.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: key, Cost: 1}).Near)
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: key, Cost: 1}).Near)
		}
		for _, shard := range l.near.shards {
			for _, at := range shard.Keys() {
				require.LessOrEqual(t, len(at.key), longKey)
			}
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
							allowed[[3]any{q.Limit, q.Key, windowAt(now, q.Limit.rule.Window).number}] += q.Cost
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

// TestLook: it says what a hit would be told, and no hit is told anything else
// because of it.
func TestLook(t *testing.T) {
	for name, rule := range map[string]Rule{
		"fixed window":   {Algorithm: FixedWindow},
		"sliding window": {Algorithm: SlidingWindow},
		"denied counts":  {CountDenied: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{NearCache: -1})
				rule.Name, rule.Quota, rule.Window = "user", 5, time.Minute
				limit := l.must(t, rule)
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
		require.True(t, l.Allow(t.Context(), both...).Each[1].Near, "a look's answer is remembered")

		look := Request{Limit: limit, Key: "k", Cost: 3, Look: true}
		r = l.Allow(t.Context(), look, look, Request{Limit: limit, Key: "k", Cost: 3}, Request{Limit: limit, Key: "k2", Cost: 5})
		require.True(t, r.Allowed)
		require.EqualValues(t, 3, r.Each[0].Remaining)
		require.Zero(t, r.Each[2].Remaining)
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
			require.EqualValues(t, 3, r.Each[0].Remaining, algorithm)
			require.EqualValues(t, 5, r.Each[1].Remaining, algorithm)
			look.Cost = 3
			r = l.Allow(t.Context(), look, hit, look)
			require.True(t, r.Allowed, algorithm)
			require.EqualValues(t, 3, r.Each[2].Remaining, algorithm)
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
