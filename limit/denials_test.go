package limit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
)

// commands counts commands.
type commands struct{ atomic.Int64 }

func (c *commands) trace() *redislanes.Trace {
	return &redislanes.Trace{EndRequest: func(context.Context, redislanes.RequestStart, redislanes.RequestInfo) { c.Add(1) }}
}

// A crowd is callers whose hits do not fit.
type crowd struct {
	others, near            int
	noLease, remote, beside bool // remote: in another limiter; beside: they ask about a second limit, too
}

// TestDenialsHarmNobody: a caller whose hits fit is allowed at once, whatever others ask for at the same time.
func TestDenialsHarmNobody(t *testing.T) {
	t.Parallel()
	addrs := servers.StartCluster(t, servers.Options{Primaries: 1}).Addrs()
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		for i, c := range []crowd{
			{others: 4, near: -1, noLease: true}, {others: 4, remote: true, beside: true}, {others: 4, near: -1, remote: true},
			{others: 40, near: -1}, {others: 40, near: -1, noLease: true, remote: true, beside: true}, {others: 40, beside: true},
		} {
			rule := Rule{Name: fmt.Sprintf("%v-%d", algorithm, i), Quota: 100, Window: mostWindow, Algorithm: algorithm, NoLease: c.noLease}
			c.harms(t, rule, addrs)
		}
	}
}

func (c crowd) harms(t *testing.T, rule Rule, addrs []string) {
	config, sent := Config{Budget: 10 * time.Second, NearCache: c.near}, new(commands)
	bad := limiterAt(t, cluster.Config{Trace: sent.trace()}, config, addrs)
	good, limit := bad, bad.must(t, rule)
	of := limit
	if c.remote {
		good = limiterAt(t, cluster.Config{}, config, addrs)
		of = good.must(t, rule)
	}
	second := bad.must(t, Rule{Name: rule.Name + "b", Quota: 1000, Window: mostWindow, Algorithm: rule.Algorithm})
	var denials, spent atomic.Int64
	for round := range 15 {
		key := fmt.Sprint(round)
		require.True(t, good.Allow(t.Context(), Request{Limit: of, Key: key, Cost: 97}).Allowed)
		ask := []Request{{Limit: limit, Key: key, Cost: 5}}
		if c.beside {
			ask = append(ask, Request{Limit: second, Key: key})
		}
		before := sent.Load()
		var stop atomic.Bool
		var all sync.WaitGroup
		for range c.others {
			all.Go(func() {
				for ; !stop.Load(); denials.Add(1) {
					assert.False(t, bad.Allow(t.Context(), ask...).Allowed)
				}
			})
		}
		for range 3 {
			r := good.Allow(t.Context(), Request{Limit: of, Key: key})
			assert.True(t, r.Allowed && r.Err == nil, "%s %+v: %+v", rule.Name, c, r)
		}
		stop.Store(true)
		all.Wait()
		spent.Add(sent.Load() - before)
	}
	t.Logf("%s %+v: %d commands, %d denials", rule.Name, c, spent.Load(), denials.Load())
}

// TestDenialsTravelTogether: four callers that are denied all the time need a command for two denials at most.
func TestDenialsTravelTogether(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			sent, denials := new(commands), 0
			l := newTracedWorld(t, sent.trace()).limiter(t, Config{NearCache: -1})
			limit := l.must(t, Rule{Name: "user", Quota: 100, Window: mostWindow, Algorithm: algorithm})
			require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 97}).Allowed)
			sent.Store(0)
			end := time.Now().Add(time.Second)
			var all sync.WaitGroup
			var mu sync.Mutex
			for range 4 {
				all.Go(func() {
					for time.Now().Before(end) {
						assert.False(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: 5}).Allowed)
						mu.Lock()
						denials++
						mu.Unlock()
					}
				})
			}
			all.Wait()
			t.Logf("%v: %d commands, %d denials", algorithm, sent.Load(), denials)
			require.Greater(t, denials, 1000)
			require.LessOrEqual(t, sent.Load(), int64(denials/2))
		})
	}
}

// TestManyCallersOfAFullKey are denied together, by the next word of the server.
func TestManyCallersOfAFullKey(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			sent := new(commands)
			l := newTracedWorld(t, sent.trace()).limiter(t, Config{NearCache: -1})
			limit := l.must(t, Rule{Name: "user", Quota: 60, Window: time.Hour, Algorithm: algorithm})
			for _, cost := range []int64{59, 1} { // the limiter knows what the server has
				require.True(t, l.Allow(t.Context(), Request{Limit: limit, Key: "k", Cost: cost}).Allowed)
			}
			sent.Store(0)
			began := time.Now()
			var all sync.WaitGroup
			for range 1000 {
				all.Go(func() { assert.Equal(t, "denied", l.Allow(t.Context(), Request{Limit: limit, Key: "k"}).Outcome()) })
			}
			all.Wait()
			require.LessOrEqual(t, sent.Load(), int64(2), algorithm)
			require.LessOrEqual(t, time.Since(began), 2*time.Millisecond, "two round trips")
		})
	}
}

// TestLargeDenialCostsOthersNothing: after a denied request that is large, calls of several limits need as many
// commands as before.
func TestLargeDenialCostsOthersNothing(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			sent := new(commands)
			l := newTracedWorld(t, sent.trace()).limiter(t, Config{})
			tenant := l.must(t, Rule{Name: "tenant", Quota: 1_000_000, Window: 24 * time.Hour, Algorithm: algorithm, NoLease: true})
			user := l.must(t, Rule{Name: "user", Quota: 1000, Window: 24 * time.Hour, Algorithm: algorithm, NoLease: true})
			atWindow(24 * time.Hour)
			require.True(t, l.Allow(t.Context(), Request{Limit: tenant, Key: "acme", Cost: 600_000}).Allowed)
			need := func(name string) (n int64, trips time.Duration) {
				sent.Store(0)
				began := time.Now()
				for i := range 100 {
					require.True(t, l.Allow(t.Context(), Request{Limit: tenant, Key: "acme"}, Request{Limit: user, Key: fmt.Sprint(name, i)}).Allowed)
				}
				return sent.Load(), time.Since(began)
			}
			commands, trips := need("before")
			require.False(t, l.Allow(t.Context(), Request{Limit: tenant, Key: "acme", Cost: 500_000}).Allowed)
			for _, name := range []string{"at once", "later"} {
				n, took := need(name)
				require.LessOrEqual(t, n, commands, "%v %s", algorithm, name)
				require.LessOrEqual(t, took, trips, "%v %s", algorithm, name)
				time.Sleep(time.Second)
			}
		})
	}
}

// TestNearlyUsedLimitIsAskedLast: a call that another limit denies takes nothing of a limit that has an eighth or
// less left, even for a moment.
func TestNearlyUsedLimitIsAskedLast(t *testing.T) {
	for _, algorithm := range []Algorithm{FixedWindow, SlidingWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			sent := new(commands)
			world := newTracedWorld(t, sent.trace())
			l, other := world.limiter(t, Config{NearCache: -1}), world.limiter(t, Config{})
			rule := func(name string, quota int64) Rule {
				return Rule{Name: name, Quota: quota, Window: 24 * time.Hour, Algorithm: algorithm, NoLease: true}
			}
			nearly, full := l.must(t, rule("nearly", 100)), l.must(t, rule("full", 10))
			for _, cost := range []int64{89, 1} { // the limiter knows what the server has
				require.True(t, l.Allow(t.Context(), Request{Limit: nearly, Key: "k", Cost: cost}).Allowed)
			}
			require.True(t, other.Allow(t.Context(), Request{Limit: other.must(t, full.Rule()), Key: "k", Cost: 10}).Allowed)
			sent.Store(0)
			require.False(t, l.Allow(t.Context(), Request{Limit: nearly, Key: "k"}, Request{Limit: full, Key: "k"}).Allowed)
			require.EqualValues(t, 1, sent.Load(), "%v: only the full limit is asked", algorithm)
		})
	}
}
