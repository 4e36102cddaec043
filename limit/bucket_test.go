package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

// bucketLimiter returns a limiter on an emulated cluster, whose script's clock is
// set by hand.
func bucketLimiter(t *testing.T) (l *Limiter, pass func(d time.Duration)) {
	t.Helper()
	client, err := cluster.Config{}.New(t.Context(), redistest.StartEmulated(t, 3).Addrs())
	require.NoError(t, err)
	l, err = Config{Budget: 10 * time.Second, NearCache: -1}.New(client) // which goes by another clock
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.NoError(t, client.Close())
	})
	var mu sync.Mutex
	now := int64(1_000_000)
	l.clock = func() string {
		mu.Lock()
		defer mu.Unlock()
		return strconv.FormatInt(now, 10)
	}
	return l, func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now += d.Microseconds()
	}
}

// head returns the part before the user's key of the keys of a bucket.
func head(of *Limit) string {
	name, _ := of.names(0, "")
	return name
}

// TestTokenBucket against a model: one caller at random times and costs.
func TestTokenBucket(t *testing.T) {
	t.Parallel()
	l, pass := bucketLimiter(t)
	bucket := l.must(t, Rule{Name: "b", Quota: 10, Burst: 25, Window: time.Second, Algorithm: TokenBucket})
	random := rand.New(rand.NewPCG(1, 2))
	const per = 100 * time.Millisecond
	missing := time.Duration(0) // until the bucket is full
	allowed, denied := 0, 0
	for range 600 {
		gap := time.Duration(random.Int64N(int64(300 * time.Millisecond))).Truncate(time.Microsecond)
		pass(gap)
		missing = max(0, missing-gap)
		cost := 1 + random.Int64N(4)
		r := l.Allow(t.Context(), Request{Limit: bucket, Key: "k", Cost: cost})
		require.NoError(t, r.Err)
		next := missing + time.Duration(cost)*per
		require.Equal(t, next <= 25*per, r.Allowed)
		if r.Allowed {
			allowed++
			missing = next
			require.Zero(t, r.RetryAfter)
		} else {
			denied++
			require.Equal(t, next-25*per, r.RetryAfter)
		}
		require.EqualValues(t, (25*per-missing)/per, r.Remaining)
		require.Equal(t, missing, r.ResetAfter)
	}
	require.Greater(t, allowed, 150)
	require.Greater(t, denied, 60)
	require.Equal(t, Never, l.Allow(t.Context(), Request{Limit: bucket, Key: "k", Cost: 26}).RetryAfter)
}

// TestTokensComeBack: of calls that another limit denies, also that of one with
// windows, and none of those that the bucket has denied itself.
func TestTokensComeBack(t *testing.T) {
	t.Parallel()
	l, _ := bucketLimiter(t)
	bucket := l.must(t, Rule{Name: "b", Quota: 5, Window: time.Hour, Algorithm: TokenBucket})
	window := l.must(t, Rule{Name: "w", Quota: 2, Window: time.Hour})
	other := l.must(t, Rule{Name: "o", Quota: 1, Window: time.Hour, Algorithm: TokenBucket})
	both := func() Result {
		return l.Allow(t.Context(), Request{Limit: bucket, Key: "k"}, Request{Limit: window, Key: "k"})
	}
	require.True(t, both().Allowed)
	require.True(t, both().Allowed)
	for range 5 {
		r := both()
		require.False(t, r.Allowed)
		require.NoError(t, r.Err)
	}
	require.EqualValues(t, 2, l.count(t, window, "k"))
	r := l.Allow(t.Context(), Request{Limit: bucket, Key: "k"}, Request{Limit: other, Key: "k"})
	require.True(t, r.Allowed)
	require.EqualValues(t, 2, r.Each()[0].Remaining, "three of five are taken")
	r = l.Allow(t.Context(), Request{Limit: bucket, Key: "k"}, Request{Limit: other, Key: "k"})
	require.False(t, r.Allowed)
	r = l.Allow(t.Context(), Request{Limit: bucket, Key: "k", Cost: 2})
	require.True(t, r.Allowed)
	require.Zero(t, r.Remaining)
}

// TestTokensOfAnotherRule: a bucket whose rule has changed, or whose server's clock
// has gone back, is empty at most.
func TestTokensOfAnotherRule(t *testing.T) {
	t.Parallel()
	l, pass := bucketLimiter(t)
	pass(2 * time.Hour)
	daily := l.must(t, Rule{Name: "b", Quota: 10, Window: 24 * time.Hour, Algorithm: TokenBucket})
	minutely := l.must(t, Rule{Name: "b", Quota: 10, Window: time.Minute, Algorithm: TokenBucket})
	require.True(t, l.Allow(t.Context(), Request{Limit: daily, Key: "k", Cost: 10}).Allowed)
	r := l.Allow(t.Context(), Request{Limit: minutely, Key: "k", Cost: 1})
	require.False(t, r.Allowed)
	require.Equal(t, 6*time.Second, r.RetryAfter)
	pass(-time.Hour)
	r = l.Allow(t.Context(), Request{Limit: minutely, Key: "k", Cost: 1})
	require.False(t, r.Allowed)
	require.Equal(t, 6*time.Second, r.RetryAfter)
}

// TestServerClockGoesBack: a bucket has the tokens that it had, and gets more at once. It does not
// stay empty until the clock has made up for the step.
func TestServerClockGoesBack(t *testing.T) {
	t.Parallel()
	l, pass := bucketLimiter(t)
	pass(24 * time.Hour)
	bucket := l.must(t, Rule{Name: "b", Quota: 10, Burst: 20, Window: time.Second, Algorithm: TokenBucket})
	ask := func(key string, cost int64) Result {
		r := l.Allow(t.Context(), Request{Limit: bucket, Key: key, Cost: cost})
		require.NoError(t, r.Err)
		return r
	}
	require.True(t, ask("full", 20).Allowed)
	require.True(t, ask("half", 10).Allowed)
	reserved, r := l.Reserve(t.Context(), Request{Limit: bucket, Key: "reserved", Cost: 20})
	require.True(t, r.Allowed)
	pass(-time.Hour)
	r = ask("full", 1)
	require.False(t, r.Allowed)
	require.Equal(t, 100*time.Millisecond, r.RetryAfter)
	r = ask("half", 1)
	require.True(t, r.Allowed)
	require.EqualValues(t, 9, r.Remaining)
	pass(100 * time.Millisecond)
	require.True(t, ask("full", 1).Allowed)
	require.False(t, ask("full", 1).Allowed)
	pass(1800 * time.Millisecond)
	require.EqualValues(t, 17, ask("full", 1).Remaining)
	require.False(t, ask("reserved", 20).Allowed)
	pass(time.Second)
	require.NoError(t, reserved.Cancel(t.Context()))
	require.EqualValues(t, 19, ask("reserved", 1).Remaining)
	pass(time.Hour)
	require.True(t, ask("reserved", 20).Allowed)
	require.False(t, ask("reserved", 1).Allowed)
}

// TestBucketOfTwoBursts: while processes with an old and a new rule share a bucket, the smaller burst
// does not bring back what the larger one has taken.
func TestBucketOfTwoBursts(t *testing.T) {
	t.Parallel()
	l, _ := bucketLimiter(t)
	rule := Rule{Name: "b", Quota: 10, Burst: 1000, Window: time.Hour, Algorithm: TokenBucket, NoLease: true}
	large := l.must(t, rule)
	rule.Burst = 100
	small := l.must(t, rule)
	reserved, r := l.Reserve(t.Context(), Request{Limit: small, Key: "k", Cost: 5})
	require.True(t, r.Allowed)
	require.True(t, l.Allow(t.Context(), Request{Limit: large, Key: "k", Cost: 995}).Allowed)
	require.False(t, l.Allow(t.Context(), Request{Limit: small, Key: "k"}).Allowed)
	require.False(t, l.Allow(t.Context(), Request{Limit: large, Key: "k"}).Allowed, "after a denial")
	require.NoError(t, reserved.Cancel(t.Context()))
	require.False(t, l.Allow(t.Context(), Request{Limit: large, Key: "k", Cost: 6}).Allowed, "after a return")
	require.True(t, l.Allow(t.Context(), Request{Limit: large, Key: "k", Cost: 5}).Allowed)
	require.NoError(t, l.GiveBack(t.Context(), Request{Limit: large, Key: "k", Cost: 7}))
}

// TestKeyThatHoldsNoBucket: the hit has an error, and the key stays as it is.
func TestKeyThatHoldsNoBucket(t *testing.T) {
	t.Parallel()
	l, _ := bucketLimiter(t)
	bucket := l.must(t, Rule{Name: "b", Quota: 10, Window: time.Hour, Algorithm: TokenBucket, FailClosed: true})
	for _, value := range []string{"", "text", "1", "1 2 3 4 5", "a 2 3 4 5 6", "1 b 3 4 5 6", "1 2 c 4 5 6", "9e18 2 3 d 5 6", "1 2 3 4 e 6", "1 2 3 4 5 f"} {
		key := head(bucket) + "k"
		require.NoError(t, l.client.Cmd(t.Context(), "SET", key, value).Err())
		r := l.Allow(t.Context(), Request{Limit: bucket, Key: "k"})
		require.Error(t, r.Err, value)
		require.False(t, r.Allowed, value)
		got, err := l.client.Cmd(t.Context(), "GET", key).Text()
		require.NoError(t, err)
		require.Equal(t, value, got)
	}
}

// TestTokensAreWhole: at times of today, whose fractions a double does not hold.
func TestTokensAreWhole(t *testing.T) {
	t.Parallel()
	l, pass := bucketLimiter(t)
	pass(60_000_000 * time.Second)
	for _, limit := range []int64{3, 6, 7, 11, 13, 97, 1000, 999} {
		bucket := l.must(t, Rule{Name: "b", Quota: limit, Window: time.Second, Algorithm: TokenBucket, NoLease: true})
		for left := limit - 1; left >= max(0, limit-20); left-- {
			r := l.Allow(t.Context(), Request{Limit: bucket, Key: strconv.FormatInt(limit, 10)})
			require.True(t, r.Allowed)
			require.Equal(t, left, r.Remaining, "of %d", limit)
		}
	}
}

// TestFastBucket: rounding neither adds tokens nor takes any from a full bucket, however short they are.
func TestFastBucket(t *testing.T) {
	t.Parallel()
	l, pass := bucketLimiter(t)
	for _, today := range []bool{false, true} {
		if today {
			pass(60_000_000 * time.Second)
		}
		for _, c := range []struct{ limit, burst, cost int64 }{
			{1_000_000, 1_000_000, 1}, {2_000_000, 2_000_000, 1}, {3_000_000, 100, 1}, {10_000_000, 10_000_000, 1},
			{100_000_000, 100_000_000, 1}, {1_000_000_000, 1_000_000_000, 1000}, {1_000_000_000, 1_234_561, 1000}, {1_000_000_000, 1_234_565, 1000},
		} {
			key := fmt.Sprint(c.limit, c.burst, today)
			bucket := l.must(t, Rule{Name: "b", Quota: c.limit, Burst: c.burst, Window: time.Second, Algorithm: TokenBucket, NoLease: true})
			whole := Request{Limit: bucket, Key: key, Cost: c.burst}
			look := whole
			look.Look = true
			r := l.Allow(t.Context(), look)
			require.True(t, r.Allowed, key)
			require.Equal(t, c.burst, r.Remaining, key)
			r = l.Allow(t.Context(), Request{Limit: bucket, Key: key, Cost: c.cost})
			require.NoError(t, r.Err)
			require.InDelta(t, c.burst-c.cost, r.Remaining, 10, key)
			require.Less(t, r.Remaining, c.burst, key)
			require.False(t, l.Allow(t.Context(), whole).Allowed, key)
			pass(time.Hour)
			require.True(t, l.Allow(t.Context(), whole).Allowed, key)
		}
	}
}

// TestRaisedBucket: tokens of a limit that was raised are there at once.
func TestRaisedBucket(t *testing.T) {
	t.Parallel()
	l, pass := bucketLimiter(t)
	rule := Rule{Name: "b", Quota: 10, Window: time.Minute, Algorithm: TokenBucket}
	low := l.must(t, rule)
	rule.Quota = 1000
	high := l.must(t, rule)
	require.True(t, l.Allow(t.Context(), Request{Limit: low, Key: "k", Cost: 10}).Allowed)
	require.False(t, l.Allow(t.Context(), Request{Limit: low, Key: "k"}).Allowed)
	r := l.Allow(t.Context(), Request{Limit: high, Key: "k"})
	require.True(t, r.Allowed)
	require.EqualValues(t, 989, r.Remaining)
	r = l.Allow(t.Context(), Request{Limit: low, Key: "k"})
	require.False(t, r.Allowed)
	require.InDelta(t, 120*time.Millisecond, r.RetryAfter, float64(time.Microsecond), "its rate holds once something fits")
	pass(r.RetryAfter)
	require.True(t, l.Allow(t.Context(), Request{Limit: low, Key: "k"}).Allowed)
}

// TestClosedLimiter: its calls are decided without Redis.
func TestClosedLimiter(t *testing.T) {
	t.Parallel()
	client, err := cluster.Config{}.New(t.Context(), redistest.StartEmulated(t, 1).Addrs())
	require.NoError(t, err)
	defer client.Close()
	l, err := New(client)
	require.NoError(t, err)
	bucket := l.must(t, Rule{Name: "b", Quota: 5, Window: time.Hour, Algorithm: TokenBucket})
	require.NoError(t, l.Close())
	err = l.Allow(t.Context(), Request{Limit: bucket, Key: "k", Cost: 3}).Err
	require.ErrorIs(t, err, redislanes.ErrClosed)
	require.EqualError(t, err, "redislanes: the Limiter is closed: not sent")
}

// TestTokenBucketOfRealServers: their clock, scripts that they forget, and many
// callers: there are never more hits than the burst and what has flowed in since.
func TestTokenBucketOfRealServers(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client, err := cluster.Config{}.New(t.Context(), real.Addrs())
	require.NoError(t, err)
	defer client.Close()
	l, err := Config{Budget: 10 * time.Second}.New(client)
	require.NoError(t, err)
	defer l.Close()
	bucket := l.must(t, Rule{Name: "b", Quota: 200, Burst: 50, Window: time.Second, Algorithm: TokenBucket})
	keys := redistest.KeysInSlots(3, "k")
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var mu sync.Mutex
	allowed := make(map[string]int64)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			// However slow the machine is, each key is asked for more than its burst.
			for n := i; n < i+100 || ctx.Err() == nil; n++ {
				key := keys[n%len(keys)]
				r := l.Allow(context.Background(), Request{Limit: bucket, Key: key})
				if !assert.NoError(t, r.Err) {
					return
				}
				if r.Allowed {
					mu.Lock()
					allowed[key]++
					mu.Unlock()
				}
				if n%100 == 0 {
					for _, node := range real.Nodes() {
						assert.NoError(t, node.Do(context.Background(), nil, "SCRIPT", "FLUSH"))
					}
				}
			}
		})
	}
	callers.Wait()
	flowed := int64(200*time.Since(began).Seconds()) + 1
	for _, key := range keys {
		require.LessOrEqual(t, allowed[key], 50+flowed)
		require.GreaterOrEqual(t, allowed[key], int64(50))
	}
	var ttl int64
	require.NoError(t, client.Do(t.Context(), radix.Cmd(&ttl, "PTTL", head(bucket)+keys[0])))
	require.Positive(t, ttl)
}

// TestLookAtTokens: a look takes no token, and gives none back with a call that is
// denied.
func TestLookAtTokens(t *testing.T) {
	t.Parallel()
	l, pass := bucketLimiter(t)
	bucket := l.must(t, Rule{Name: "b", Quota: 2, Burst: 4, Window: time.Second, Algorithm: TokenBucket})
	window := l.must(t, Rule{Name: "w", Quota: 1, Window: time.Hour})
	look := Request{Limit: bucket, Key: "k", Cost: 3, Look: true}
	for range 3 {
		r := l.Allow(t.Context(), look)
		require.NoError(t, r.Err)
		require.True(t, r.Allowed)
		require.EqualValues(t, 4, r.Remaining)
		require.Zero(t, r.ResetAfter)
	}
	require.True(t, l.Allow(t.Context(), Request{Limit: bucket, Key: "k", Cost: 2}).Allowed)
	for range 3 {
		r := l.Allow(t.Context(), look)
		require.False(t, r.Allowed)
		require.EqualValues(t, 2, r.Remaining)
		require.Equal(t, 500*time.Millisecond, r.RetryAfter)
	}
	pass(500 * time.Millisecond)
	require.True(t, l.Allow(t.Context(), look, Request{Limit: window, Key: "k"}).Allowed)
	require.False(t, l.Allow(t.Context(), look, Request{Limit: window, Key: "k"}).Allowed, "by the window")
	require.EqualValues(t, 3, l.Allow(t.Context(), look).Remaining)
}
