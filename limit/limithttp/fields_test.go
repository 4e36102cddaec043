package limithttp

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/redistest"
	"github.com/redislanes/redislanes/redistest/sim"
)

// limits returns a request about each of n limits, and a result that allows them.
func limits(t testing.TB, n int, l *limit.Limiter) (requests []limit.Request, result limit.Result) {
	for i := range n {
		requests = append(requests, limit.Request{Rule: limit.Rule{Name: fmt.Sprintf("limit-%d", i), Quota: 100, Window: time.Hour}, Key: "k"})
	}
	result.Decisions = make([]limit.Decision, n)
	for i := range result.Decisions {
		result.Decisions[i] = limit.Decision{Allowed: true, Quota: 100, Remaining: 42, ResetAfter: time.Minute}
	}
	return requests, result
}

// TestPolicy: no item names more hits than are allowed at once, of a bucket with a small burst, or of windows
// that are no whole number of seconds.
func TestPolicy(t *testing.T) {
	world(t, func(t *testing.T, _ *sim.Cluster, _ *cluster.Client, l *limit.Limiter) {
		for want, rule := range map[string]limit.Rule{
			`"p";q=10;w=1`:                   {Quota: 100, Burst: 10, Window: time.Second, Algorithm: limit.TokenBucket},
			`"p";q=100;w=10`:                 {Quota: 10, Burst: 100, Window: time.Second, Algorithm: limit.TokenBucket},
			`"p";q=1;w=1`:                    {Quota: 3000, Burst: 1, Window: time.Second, Algorithm: limit.TokenBucket},
			`"p";q=15;w=2`:                   {Quota: 600, Burst: 15, Window: time.Minute, Algorithm: limit.TokenBucket},
			`"p";q=1000000000;w=31622400`:    {Quota: 1e9, Burst: 1e9, Window: 366 * 24 * time.Hour, Algorithm: limit.TokenBucket},
			`"p";q=50;w=60`:                  {Quota: 50, Window: time.Minute, Algorithm: limit.TokenBucket},
			`"p";q=7;w=1`:                    {Quota: 7, Window: 100 * time.Millisecond},
			`"p";q=11;w=2`:                   {Quota: 11, Window: 1500 * time.Millisecond},
			`"p";q=5;w=3600`:                 {Quota: 5, Window: time.Hour, Algorithm: limit.SlidingWindow},
			`"p";q=9`:                        {Quota: 9, Calendar: limit.Calendar{Unit: limit.Month}},
			`"p";q=0;w=1`:                    {Quota: 0, Window: time.Second},
			`"p";q=1000000000000;w=31622400`: {Quota: 1e12, Window: 366 * 24 * time.Hour},
		} {
			rule.Name = "p"
			made := must(t, l, rule).Rule()
			require.Equal(t, want, policyOf(&made))
		}
	})
}

// TestReset: t is the time until more hits are allowed, and no later than Retry-After.
func TestReset(t *testing.T) {
	world(t, func(t *testing.T, _ *sim.Cluster, _ *cluster.Client, l *limit.Limiter) {
		bucket := must(t, l, limit.Rule{Name: "b", Quota: 6, Burst: 3, Window: time.Minute, Algorithm: limit.TokenBucket})
		sliding := must(t, l, limit.Rule{Name: "s", Quota: 2, Window: time.Minute, Algorithm: limit.SlidingWindow})
		small := must(t, l, limit.Rule{Name: "m", Quota: 1, Window: time.Minute})
		for _, c := range []struct {
			ask   limit.Request
			retry time.Duration
			state string
		}{
			{limit.Request{Limit: bucket, Key: "k", Look: true}, 0, `"b";r=3`},
			{limit.Request{Limit: bucket, Key: "k"}, 0, `"b";r=2;t=10`},
			{limit.Request{Limit: bucket, Key: "k", Cost: 2}, 0, `"b";r=0;t=10`},
			{limit.Request{Limit: bucket, Key: "k", Cost: 2}, 20 * time.Second, `"b";r=0;t=20`},
			{limit.Request{Limit: bucket, Key: "k", Cost: 4}, limit.Never, ""},
			{limit.Request{Limit: sliding, Key: "k"}, 0, `"s";r=1;t=40`},
			{limit.Request{Limit: sliding, Key: "k"}, 0, `"s";r=0;t=40`},
			{limit.Request{Limit: small, Key: "k"}, 0, `"m";r=0;t=40`},
		} {
			result := l.Allow(t.Context(), c.ask)
			require.Equal(t, c.retry, result.RetryAfter.Round(time.Second))
			_, state := Fields([]limit.Request{c.ask}, result)
			require.Equal(t, c.state, state)
		}
	})
}

// TestFieldsOfSeveralKeys: a request that one key denies is not told what another one has.
func TestFieldsOfSeveralKeys(t *testing.T) {
	world(t, func(t *testing.T, _ *sim.Cluster, _ *cluster.Client, l *limit.Limiter) {
		user := must(t, l, limit.Rule{Name: "user", Quota: 2, Window: time.Hour})
		tried := must(t, l, limit.Rule{Name: "tried", Quota: 0, Window: time.Hour, Shadow: true})
		bucket := must(t, l, limit.Rule{Name: "full", Quota: 5, Window: time.Hour, Algorithm: limit.TokenBucket})
		short := must(t, l, limit.Rule{Name: "user", Quota: 10, Window: time.Minute})
		for range 2 {
			require.True(t, l.Allow(t.Context(), limit.Request{Limit: user, Key: "b"}).Allowed)
		}
		for _, c := range []struct {
			requests      []limit.Request
			policy, state string
		}{
			{[]limit.Request{{Limit: tried, Key: "a"}, {Limit: user, Key: "a"}, {Limit: user, Key: "b"}}, `"user";q=2;w=3600`, `"user";r=0;t=3580`},
			{[]limit.Request{{Limit: short, Key: "c"}, {Limit: user, Key: "c"}}, `"user";q=10;w=60, "user";q=2;w=3600`, `"user";r=9;t=40, "user";r=1;t=3580`},
			{[]limit.Request{{Limit: bucket, Key: "k", Look: true}}, `"full";q=5;w=3600`, `"full";r=5`},
			{[]limit.Request{{}}, "", ""},
			{[]limit.Request{{Rule: limit.Rule{Name: "rule", Quota: 2, Window: time.Hour}}}, `"rule";q=2;w=3600`, `"rule";r=1;t=3580`},
			{[]limit.Request{{Rule: limit.Rule{Name: "\"\r\n", Burst: 2, Algorithm: limit.TokenBucket}}}, "", ""},
		} {
			policy, state := Fields(c.requests, l.Allow(t.Context(), c.requests...))
			require.Equal(t, c.policy, policy)
			require.Equal(t, c.state, state)
		}
	})
}

// TestFieldsAreLinear: ten times as many limits take ten times as many allocations.
func TestFieldsAreLinear(t *testing.T) {
	world(t, func(t *testing.T, _ *sim.Cluster, _ *cluster.Client, l *limit.Limiter) {
		allocations := func(n int) float64 {
			requests, result := limits(t, n, l)
			return testing.AllocsPerRun(1, func() { Fields(requests, result) })
		}
		require.Less(t, allocations(1000), 15*allocations(100))
	})
}

func BenchmarkFields(b *testing.B) {
	client, err := cluster.Config{}.New(b.Context(), redistest.StartEmulated(b, 1).Addrs())
	require.NoError(b, err)
	defer client.Close()
	l, err := limit.New(client)
	require.NoError(b, err)
	defer l.Close()
	for _, n := range []int{1, 3, 1_000, 10_000} {
		requests, result := limits(b, n, l)
		b.Run(fmt.Sprintf("limits=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fields(requests, result)
			}
		})
	}
}
