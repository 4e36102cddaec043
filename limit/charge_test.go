package limit

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCharge: what is charged counts whatever it costs, and what follows is denied.
func TestCharge(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newWorld(t).limiter(t, Config{})
				tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Minute, Algorithm: algorithm, NoLease: true})
				charge := func(cost int64) Result {
					r := l.Allow(t.Context(), Request{Limit: tokens, Key: "k", Cost: cost, Charge: true})
					require.NoError(t, r.Err)
					return r
				}
				atWindow(time.Minute)
				r := charge(400)
				require.True(t, r.Allowed)
				require.EqualValues(t, 600, r.Remaining)
				for sum := int64(1900); sum <= 4900; sum += 1500 { // the near cache knows the key
					r = charge(1500)
					require.False(t, r.Allowed)
					require.Zero(t, r.Remaining)
					require.EqualValues(t, sum, l.count(t, tokens, "k"))
				}
				hit := l.Allow(t.Context(), Request{Limit: tokens, Key: "k"})
				require.False(t, hit.Allowed)
				require.True(t, hit.Near)
				require.InDelta(t, r.RetryAfter, hit.RetryAfter, float64(time.Second))
				time.Sleep(r.RetryAfter - time.Second)
				require.False(t, l.Allow(t.Context(), Request{Limit: tokens, Key: "k"}).Allowed)
				time.Sleep(time.Second)
				require.True(t, l.Allow(t.Context(), Request{Limit: tokens, Key: "k"}).Allowed)
			})
		})
	}
}

// TestChargedTokens: a bucket that owes tokens allows nothing until they have flowed in, also
// if its server's clock goes back, or its limit changes.
func TestChargedTokens(t *testing.T) {
	t.Parallel()
	l, pass := bucketLimiter(t)
	pass(24 * time.Hour)
	rule := Rule{Name: "b", Quota: 10, Burst: 10, Window: time.Second, Algorithm: TokenBucket}
	bucket := l.must(t, rule)
	charge := func(cost int64) Result {
		r := l.Allow(t.Context(), Request{Limit: bucket, Key: "k", Cost: cost, Charge: true})
		require.NoError(t, r.Err)
		return r
	}
	require.True(t, charge(4).Allowed)
	for i, retry := range []time.Duration{500 * time.Millisecond, 1400 * time.Millisecond} {
		r := charge([]int64{10, 9}[i])
		require.False(t, r.Allowed)
		require.Zero(t, r.Remaining)
		require.Equal(t, retry, r.RetryAfter)
		require.Equal(t, retry+900*time.Millisecond, r.ResetAfter)
	}
	look := Request{Limit: bucket, Key: "k", Look: true}
	pass(time.Second)
	require.Equal(t, 400*time.Millisecond, l.Allow(t.Context(), look).RetryAfter)
	pass(-time.Hour)
	require.Equal(t, 1400*time.Millisecond, l.Allow(t.Context(), look).RetryAfter, "as much debt as at the last charge")
	pass(time.Hour)
	rule.Quota = 100 // ten times as fast
	require.Equal(t, 40*time.Millisecond, l.Allow(t.Context(), Request{Limit: l.must(t, rule), Key: "k", Look: true}).RetryAfter)
	pass(400*time.Millisecond - time.Microsecond)
	require.False(t, l.Allow(t.Context(), Request{Limit: bucket, Key: "k"}).Allowed)
	pass(time.Microsecond)
	require.True(t, l.Allow(t.Context(), Request{Limit: bucket, Key: "k"}).Allowed)
	require.False(t, l.Allow(t.Context(), Request{Limit: bucket, Key: "k"}).Allowed)
	r := l.Allow(t.Context(), Request{Limit: bucket, Key: "far", Cost: 1 << 62, Charge: true})
	require.NoError(t, r.Err)
	require.Greater(t, r.RetryAfter, 365*24*time.Hour)
}

// TestDebtOfASlowerRule: when a limit is lowered, a debt takes a hundred years at most once something is charged,
// and no time overflows.
func TestDebtOfASlowerRule(t *testing.T) {
	t.Parallel()
	l, _ := bucketLimiter(t)
	const year = 365 * 24 * time.Hour
	bucket := func(limit int64, window time.Duration) *Limit {
		return l.must(t, Rule{Name: "b", Quota: limit, Window: window, Algorithm: TokenBucket})
	}
	fast := bucket(100, time.Second)
	for key, slow := range map[string]*Limit{"k": bucket(100, time.Hour), "far": bucket(100, mostWindow), "one": bucket(1, mostWindow)} {
		r := l.Allow(t.Context(), Request{Limit: fast, Key: key, Cost: 1_000_000_000, Charge: true})
		require.NoError(t, r.Err)
		for _, request := range []Request{{Look: true}, {}, {Cost: 1_000_000_000, Charge: true}} {
			request.Limit, request.Key = slow, key
			r = l.Allow(t.Context(), request)
			require.NoError(t, r.Err)
			require.False(t, r.Allowed)
			if request.Charge {
				require.InDelta(t, 96*year, r.RetryAfter, float64(2*year), key)
				require.InDelta(t, 96*year, r.ResetAfter, float64(2*year), key)
			}
		}
	}
}

// TestChargeInACallThatIsDenied: it counts, by whatever the call is denied, and the other
// requests do not.
func TestChargeInACallThatIsDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		tokens := l.must(t, Rule{Name: "tokens", Quota: 1000, Window: time.Hour})
		bucket := l.must(t, Rule{Name: "bucket", Quota: 1000, Window: time.Hour, Algorithm: TokenBucket})
		requests := l.must(t, Rule{Name: "requests", Quota: 2, Window: time.Hour})
		other := l.must(t, Rule{Name: "other", Quota: 100, Window: time.Hour})
		atWindow(time.Hour)
		call := func(cost int64) Result {
			all := []Request{
				{Limit: tokens, Key: "t", Cost: 10, Charge: true}, {Limit: requests, Key: "r", Cost: cost},
				{Limit: bucket, Key: "b", Cost: 20, Charge: true}, {Limit: other, Key: "o"},
			}
			for i := range 40 { // as many as are looked up by their place
				all = append(all, Request{Limit: other, Key: "o" + strconv.Itoa(i)})
			}
			return l.Allow(t.Context(), all...)
		}
		require.True(t, call(1).Allowed)
		for _, cost := range []int64{2, 2, 3} { // by the near cache, by its cost
			r := call(cost)
			require.False(t, r.Allowed)
			require.True(t, r.Each()[0].Allowed)
			require.True(t, r.Each()[2].Allowed)
		}
		time.Sleep(time.Second)
		require.EqualValues(t, 40, l.count(t, tokens, "t"))
		require.EqualValues(t, 1, l.count(t, requests, "r"))
		require.EqualValues(t, 1, l.count(t, other, "o"))
		require.EqualValues(t, 920, l.Allow(t.Context(), Request{Limit: bucket, Key: "b", Look: true}).Remaining)
		r := l.Allow(t.Context(), Request{Limit: tokens, Key: "t", Cost: 2000, Charge: true}, Request{Limit: other, Key: "o"})
		require.False(t, r.Allowed)
		time.Sleep(time.Second)
		require.EqualValues(t, 2040, l.count(t, tokens, "t"))
		require.EqualValues(t, 1, l.count(t, other, "o"), "a charge over the limit denies the call")
	})
}

// TestChargeOfNothing: a limit of 0, a limit in the shadow, and a look.
func TestChargeOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		none := l.must(t, Rule{Name: "none", Window: time.Hour, Algorithm: SlidingWindow})
		shadow := l.must(t, Rule{Name: "shadow", Quota: 1, Window: time.Hour, Shadow: true})
		r := l.Allow(t.Context(), Request{Limit: none, Key: "k", Charge: true})
		require.False(t, r.Allowed)
		require.Equal(t, Never, r.RetryAfter)
		require.EqualValues(t, 1, l.count(t, none, "k"))
		for range 2 {
			require.True(t, l.Allow(t.Context(), Request{Limit: shadow, Key: "k", Cost: 5, Charge: true}).Allowed)
		}
		require.EqualValues(t, 10, l.count(t, shadow, "k"))
		require.True(t, l.Allow(t.Context(), Request{Limit: shadow, Key: "k", Charge: true, Look: true}).Allowed)
		require.EqualValues(t, 10, l.count(t, shadow, "k"))
	})
}
