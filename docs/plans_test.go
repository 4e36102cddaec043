package docs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

type customer struct{ ID, Tenant, Plan string }

// plans allow a second's share again and again, and Burst of them at once.
var plans = map[string]limit.Rule{
	"free": {Name: "api", Algorithm: limit.TokenBucket, Quota: 60, Window: time.Minute, Burst: 10},
	"pro":  {Name: "api", Algorithm: limit.TokenBucket, Quota: 600, Window: time.Minute, Burst: 50},
}

// A Tiers limits each customer by its plan, and all customers of a tenant together.
type Tiers struct {
	limiter *limit.Limiter
	plans   map[string]*limit.Limit
	tenant  *limit.Limit
}

// NewTiers makes the limits, once for the program.
func NewTiers(limiter *limit.Limiter) (*Tiers, error) {
	tenant, err := limit.Rule{Name: "tenant", Quota: 100_000, Window: 24 * time.Hour}.New(limiter)
	if err != nil {
		return nil, err
	}
	t := &Tiers{limiter, make(map[string]*limit.Limit), tenant}
	for plan, rule := range plans {
		if t.plans[plan], err = rule.New(limiter); err != nil {
			return nil, fmt.Errorf("plan %s: %w", plan, err)
		}
	}
	return t, nil
}

// Allow counts a request for the customer and for its tenant, or for none of them.
func (t *Tiers) Allow(ctx context.Context, c customer) limit.Result {
	of := t.plans[c.Plan]
	if of == nil {
		of = t.plans["free"]
	}
	return t.limiter.Allow(ctx, limit.Request{Limit: of, Key: c.ID}, limit.Request{Limit: t.tenant, Key: c.Tenant})
}

// allowByDatabase asks with the customer's own quota. load keeps what it has read for a minute or so.
func allowByDatabase(ctx context.Context, limiter *limit.Limiter, id string, load func(ctx context.Context, id string) (perMinute int64, err error)) limit.Result {
	rule := limit.Rule{Name: "api", Algorithm: limit.TokenBucket, Quota: 60, Window: time.Minute, Burst: 10} // if the database is away
	if perMinute, err := load(ctx, id); err == nil {
		rule.Quota, rule.Burst = perMinute, max(1, perMinute/6)
	}
	return limiter.Allow(ctx, limit.Request{Rule: rule, Key: id})
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
		tiers, err := NewTiers(limiter)
		require.NoError(t, err)
		ask := func(plan string) limit.Decision {
			return tiers.Allow(t.Context(), customer{ID: "ann", Tenant: "acme", Plan: plan}).Each()[0]
		}
		for range 10 {
			require.True(t, ask("free").Allowed)
		}
		d := ask("none")
		require.False(t, d.Allowed, "it counts as free")
		require.Equal(t, time.Second, d.RetryAfter.Round(100*time.Millisecond), "the next token")
		require.EqualValues(t, 39, ask("pro").Remaining, "11 are missing")
		for range 29 {
			require.True(t, ask("pro").Allowed)
		}
		time.Sleep(time.Second) // 10 of the 40 come back
		d = ask("free")
		require.False(t, d.Allowed)
		require.Equal(t, 2100*time.Millisecond, d.RetryAfter.Round(100*time.Millisecond), "21 tokens, at the rate of pro")
		time.Sleep(d.RetryAfter)
		require.True(t, ask("free").Allowed)

		byDatabase := func(perMinute int64, err error) limit.Result {
			load := func(context.Context, string) (int64, error) { return perMinute, err }
			return allowByDatabase(t.Context(), limiter, "bob", load)
		}
		require.EqualValues(t, 9, byDatabase(0, errors.New("away")).Remaining)
		require.EqualValues(t, 198, byDatabase(1200, nil).Remaining)
		require.ErrorContains(t, byDatabase(-1, nil).Err, "Quota = -1")
	})
}

// TestMemoryOfKeys: the keys of limits.md need no more memory than it says, by MEMORY USAGE.
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
