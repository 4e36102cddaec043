package docs_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/places"
	"github.com/redislanes/redislanes/redistest/sim"
)

type customer struct{ ID, Plan string }

var plans = map[string]limit.Rule{
	"free": {Name: "api", Quota: 100, Window: time.Hour},
	"pro":  {Name: "api", Quota: 1000, Window: time.Hour},
}

func limitsOfPlans(limiter *limit.Limiter) (map[string]*limit.Limit, error) {
	limits := make(map[string]*limit.Limit)
	for plan, rule := range plans {
		made, err := rule.New(limiter)
		if err != nil {
			return nil, fmt.Errorf("plan %s: %w", plan, err)
		}
		limits[plan] = made
	}
	return limits, nil
}

func allowCustomer(ctx context.Context, limiter *limit.Limiter, limits map[string]*limit.Limit, customer customer, cost int64) limit.Result {
	return limiter.Allow(ctx, limit.Request{Limit: limits[customer.Plan], Key: customer.ID, Cost: cost})
}

// A Book has a limit for each rule that is in use.
type Book struct {
	Limiter *limit.Limiter

	mu   sync.Mutex
	made map[limit.Rule]*limit.Limit
}

// Limit returns the limit of a rule from the database.
func (b *Book) Limit(rule limit.Rule) (*limit.Limit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if made := b.made[rule]; made != nil {
		return made, nil
	}
	made, err := rule.New(b.Limiter)
	if err != nil {
		return nil, err // names the field that is wrong
	}
	if b.made == nil || len(b.made) >= 10_000 {
		b.made = make(map[limit.Rule]*limit.Limit)
	}
	b.made[rule] = made
	return made, nil
}

func allowByBook(ctx context.Context, limiter *limit.Limiter, book *Book, id string, quota int64) (limit.Result, error) {
	of, err := book.Limit(limit.Rule{Name: "api", Quota: quota, Window: time.Hour})
	if err != nil {
		return limit.Result{}, err
	}
	return limiter.Allow(ctx, limit.Request{Limit: of, Key: id}), nil
}

// TestPlans: a customer changes the plan twice.
func TestPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis := sim.Start(t, sim.Config{})
		client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(t.Context(), redis.Addrs())
		require.NoError(t, err)
		defer client.Close()
		limiter, err := limit.New(client)
		require.NoError(t, err)
		defer limiter.Close()
		limits, err := limitsOfPlans(limiter)
		require.NoError(t, err)
		ann := customer{ID: "ann", Plan: "free"}
		ask := func(plan string, cost int64) limit.Result {
			ann.Plan = plan
			return allowCustomer(t.Context(), limiter, limits, ann, cost)
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + 10*time.Minute)))
		require.True(t, ask("free", 100).Allowed)
		require.False(t, ask("free", 1).Allowed)
		require.EqualValues(t, 899, ask("pro", 1).Remaining, "the count goes on")
		time.Sleep(6 * time.Second)
		d := ask("free", 1)
		require.False(t, d.Allowed)
		require.Equal(t, 50*time.Minute, d.RetryAfter.Round(time.Minute), "the window ends")
		require.Equal(t, "mistaken", ask("none", 1).Outcome())

		book := &Book{Limiter: limiter}
		for quota := int64(102); quota < 104; quota++ {
			result, err := allowByBook(t.Context(), limiter, book, "ann", quota)
			require.NoError(t, err)
			require.True(t, result.Allowed)
		}
		require.Len(t, book.made, 2)
		_, err = allowByBook(t.Context(), limiter, book, "ann", -1)
		require.ErrorContains(t, err, "Quota = -1")
	})
}

// TestMemoryOfKeys: the keys of plans.md need no more memory than it says, by MEMORY USAGE.
func TestMemoryOfKeys(t *testing.T) {
	redis := servers.StartCluster(t, servers.Options{Primaries: 1})
	client, err := cluster.Config{}.New(t.Context(), redis.Addrs())
	require.NoError(t, err)
	defer client.Close()
	limiter, err := limit.Config{Budget: 10 * time.Second}.New(client)
	require.NoError(t, err)
	defer limiter.Close()
	exports, err := places.Config{Name: "exports", Max: 5, Budget: 10 * time.Second}.New(client)
	require.NoError(t, err)
	defer exports.Close()
	for _, length := range []int{8, 36} {
		key := strings.Repeat("k", length)
		for algorithm, most := range map[limit.Algorithm]int{limit.FixedWindow: 140, limit.SlidingWindow: 280, limit.TokenBucket: 250} {
			of, err := limit.Rule{Name: fmt.Sprintf("of-%d", algorithm), Quota: 1000, Window: 24 * time.Hour, Algorithm: algorithm}.New(limiter)
			require.NoError(t, err)
			require.NoError(t, limiter.Allow(t.Context(), limit.Request{Limit: of, Key: key}).Err)
			requireMemory(t, client, "limit:"+of.Rule().Name+":*"+key+"*", most)
		}
		for range 5 {
			_, d := exports.Acquire(t.Context(), key)
			require.NoError(t, d.Err)
		}
		requireMemory(t, client, "limit:exports:*"+key, 400)
	}
}

// requireMemory adds up what the keys need, and logs it.
func requireMemory(t *testing.T, client *cluster.Client, pattern string, most int) {
	t.Helper()
	require.NoError(t, client.ForEachPrimary(t.Context(), func(ctx context.Context, node radix.Client) error {
		var keys []string
		if err := node.Do(ctx, radix.Cmd(&keys, "KEYS", pattern)); err != nil {
			return err
		}
		sum := 0
		for _, key := range keys {
			var n int
			if err := node.Do(ctx, radix.Cmd(&n, "MEMORY", "USAGE", key)); err != nil {
				return err
			}
			sum += n
		}
		t.Logf("%d bytes: %q", sum, keys)
		require.NotZero(t, sum)
		require.LessOrEqual(t, sum, most)
		return nil
	}))
}
