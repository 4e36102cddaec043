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
	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/redistest"
)

// limiterAt returns a limiter with a client of its own.
func limiterAt(t *testing.T, of cluster.Config, c Config, addrs []string) *Limiter {
	t.Helper()
	client, err := of.New(t.Context(), addrs)
	require.NoError(t, err)
	l, err := c.New(client)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.NoError(t, client.Close())
	})
	return l
}

func (l *Limiter) mustHold(t *testing.T, r ConcurrencyRule) *Concurrency {
	t.Helper()
	c, err := l.Concurrency(r)
	require.NoError(t, err)
	return c
}

// held returns how many members the key has, expired ones, too.
func (c *Concurrency) held(key string) (int64, error) {
	p := c.limiter.pipe()
	defer c.limiter.unpipe(p)
	reply := p.Cmd("ZCARD", c.head+key)
	if err := p.Do(context.Background()); err != nil {
		return 0, err
	}
	return reply.Int()
}

func (c *Concurrency) holders(t *testing.T, key string) int64 {
	t.Helper()
	n, err := c.held(key)
	require.NoError(t, err)
	return n
}

// mustReach waits until the key has n members. It asks again if Redis does not reply.
func (c *Concurrency) mustReach(t *testing.T, key string, n int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		held, err := c.held(key)
		return err == nil && held == n
	}, soonEnough, often)
}

func isLost(h *Hold) bool {
	select {
	case <-h.Lost():
		return true
	default:
		return false
	}
}

// patient is a budget that a slow machine keeps.
var patient = Config{Budget: 10 * time.Second}

const soonEnough, often = 20 * time.Second, 5 * time.Millisecond // for require.Eventually

// mustAcquire takes a place of the key, and returns when the call began that got it. On a slow
// machine the server may be suspect, or its answer late. Such a call holds nothing, and is repeated.
func (c *Concurrency) mustAcquire(t *testing.T, key string) (*Hold, time.Time) {
	t.Helper()
	var hold *Hold
	var began time.Time
	require.Eventually(t, func() bool {
		began = time.Now()
		hold, _ = c.Acquire(t.Context(), key)
		return hold != nil
	}, soonEnough, often)
	return hold, began
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	seen := new(outcomes)
	l := limiterAt(t, cluster.Config{}, Config{Budget: 10 * time.Second, Observer: seen}, redistest.StartEmulated(t, 3).Addrs())
	c := l.mustHold(t, ConcurrencyRule{Name: "exports", Limit: 2})
	require.Equal(t, ConcurrencyRule{Name: "exports", Limit: 2, TTL: 10 * time.Second}, c.Rule())
	first, d := c.Acquire(t.Context(), "acme")
	require.Equal(t, Decision{Allowed: true, Limit: 2, Remaining: 1}, d)
	_, d = c.Acquire(t.Context(), "acme")
	require.Equal(t, Decision{Allowed: true, Limit: 2}, d)
	none, d := c.Acquire(t.Context(), "acme")
	require.Nil(t, none)
	require.Equal(t, Decision{Limit: 2, RetryAfter: time.Second}, d)
	_, d = c.Acquire(t.Context(), "other")
	require.True(t, d.Allowed)
	var twice sync.WaitGroup
	for range 4 {
		twice.Go(first.Release)
	}
	twice.Wait()
	_, d = c.Acquire(t.Context(), "acme")
	require.True(t, d.Allowed)
	_, d = c.Acquire(t.Context(), "acme")
	require.False(t, d.Allowed, "a place is given back once")
	require.False(t, isLost(first))
	require.Equal(t, outcomes{"allowed", "allowed", "denied", "allowed", "allowed", "denied"}, *seen)
}

// TestHoldersNeverExceeded: eight limiters with clients of their own never have more holders
// together than the limit, also through failovers that lose no write, and use all places.
func TestHoldersNeverExceeded(t *testing.T) {
	t.Parallel()
	const limit, limiters, callers = 5, 8, 12
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	var holding, most, taken atomic.Int64
	var all sync.WaitGroup
	over := make(chan struct{})
	for range limiters {
		c := limiterAt(t, cluster.Config{}, patient, real.Addrs()).mustHold(t, ConcurrencyRule{Name: "c", Limit: limit, FailClosed: true})
		for i := range callers {
			all.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
					}
					hold, d := c.Acquire(t.Context(), "k")
					if !d.Allowed {
						continue
					}
					n := holding.Add(1)
					assert.LessOrEqual(t, n, int64(limit))
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); {
						m = most.Load()
					}
					taken.Add(1)
					time.Sleep(time.Duration(i) * time.Millisecond)
					holding.Add(-1)
					hold.Release()
				}
			})
		}
	}
	reach := func(n int64) {
		n += taken.Load()
		assert.Eventually(t, func() bool { return taken.Load() >= n }, soonEnough, often)
	}
	reach(100)
	for _, n := range real.Nodes()[3:] { // the replicas
		assert.NoError(t, n.Failover(servers.Within(t, 30*time.Second), ""))
		reach(100)
	}
	close(over)
	all.Wait()
	require.EqualValues(t, limit, most.Load())
}

// TestHoldIsRenewed over more than two times to live, together with many others.
func TestHoldIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.limiter(t, Config{}), w.limiter(t, Config{})
		rule := ConcurrencyRule{Name: "c", Limit: 1, TTL: 3 * time.Second}
		of, other := a.mustHold(t, rule), b.mustHold(t, rule)
		var holds []*Hold
		for i := range 300 {
			hold, d := of.Acquire(t.Context(), fmt.Sprint(i))
			require.True(t, d.Allowed)
			holds = append(holds, hold)
		}
		for range 70 {
			_, d := other.Acquire(t.Context(), "7")
			require.NoError(t, d.Err)
			require.False(t, d.Allowed)
			time.Sleep(100 * time.Millisecond)
		}
		for _, hold := range holds {
			require.False(t, isLost(hold))
			hold.Release()
		}
		_, d := other.Acquire(t.Context(), "7")
		require.True(t, d.Allowed)
		time.Sleep(time.Second)
		a.keeper.mu.Lock()
		defer a.keeper.mu.Unlock()
		require.False(t, a.keeper.running, "a limiter without holds has no goroutine")
	})
}

// TestDeadHolder: the place of a process that has gone comes back after its time to live, and
// not before the holder could know that it is lost.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	addrs := servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()
	client, err := cluster.Config{}.New(t.Context(), addrs)
	require.NoError(t, err)
	dead, err := patient.New(client)
	require.NoError(t, err)
	defer dead.Close()
	rule := ConcurrencyRule{Name: "c", Limit: 2, TTL: 2 * time.Second, FailClosed: true}
	hold, began := dead.mustHold(t, rule).mustAcquire(t, "k")
	require.NoError(t, client.Close())
	other := limiterAt(t, cluster.Config{}, patient, addrs).mustHold(t, rule)
	other.mustAcquire(t, "k") // the key lives on
	other.mustAcquire(t, "k")
	require.GreaterOrEqual(t, time.Since(began), rule.TTL)
	require.Eventually(t, func() bool { return isLost(hold) }, soonEnough, often)
}

// behindProxies returns proxies before the servers, and a client's settings to go through them.
func behindProxies(t *testing.T, addrs []string) (redistest.Proxies, cluster.Config) {
	proxies := redistest.StartProxies(t, addrs)
	return proxies, cluster.Config{AddrMap: proxies.AddrMap, RefreshEvery: -1}
}

// TestUnknownAcquire: a place whose reply is missing is given back in the background.
func TestUnknownAcquire(t *testing.T) {
	t.Parallel()
	addrs := servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()
	proxies, config := behindProxies(t, addrs)
	l := limiterAt(t, config, Config{Budget: 300 * time.Millisecond}, addrs)
	for _, closed := range []bool{false, true} {
		c := l.mustHold(t, ConcurrencyRule{Name: "c", Limit: 1, TTL: time.Hour, FailClosed: closed})
		sure := limiterAt(t, cluster.Config{}, patient, addrs).mustHold(t, c.rule)
		key := fmt.Sprint(closed)
		require.Eventually(t, func() bool { // the server knows the script
			hold, d := c.Acquire(t.Context(), key)
			hold.Release()
			return d.Err == nil
		}, soonEnough, often)
		for _, p := range proxies {
			p.Stall(redistest.ToClient)
		}
		hold, d := c.Acquire(t.Context(), key)
		require.ErrorIs(t, d.Err, redislanes.ErrUnknownOutcome)
		require.Equal(t, !closed, d.Allowed)
		require.Nil(t, hold)
		for _, p := range proxies {
			p.Flow(redistest.ToClient)
		}
		require.Eventually(t, func() bool { // later if a slow server has only now taken the place
			_, d := sure.Acquire(t.Context(), key)
			return d.Allowed && d.Err == nil
		}, soonEnough, often)
	}
}

// TestAcquireAfterACut: a connection that breaks costs neither the decision nor a place.
func TestAcquireAfterACut(t *testing.T) {
	t.Parallel()
	addrs := servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()
	proxies, config := behindProxies(t, addrs)
	c := limiterAt(t, config, patient, addrs).mustHold(t, ConcurrencyRule{Name: "c", Limit: 2})
	first, _ := c.mustAcquire(t, "k")
	for _, cut := range []func(){func() { c.Acquire(t.Context(), "k") }, first.Release} {
		for _, p := range proxies {
			p.CutAfter(redistest.ToClient, 0)
		}
		cut()
	}
	c.mustReach(t, "k", 1)
}

// TestLost: a hold that cannot be renewed is lost before the end of its time to live, also if the
// server is silent, and is given back when the server is there again.
func TestLost(t *testing.T) {
	t.Parallel()
	addrs := servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()
	proxies, config := behindProxies(t, addrs)
	seen := new(ledger)
	l := limiterAt(t, config, Config{Budget: 10 * time.Second, Observer: seen}, addrs)
	c := l.mustHold(t, ConcurrencyRule{Name: "c", Limit: 2, TTL: 2 * time.Second})
	sure := limiterAt(t, cluster.Config{}, patient, addrs).mustHold(t, c.rule)
	hold, began := c.mustAcquire(t, "k")
	for _, p := range proxies {
		p.Stall(redistest.ToServer)
	}
	<-hold.Lost()
	require.GreaterOrEqual(t, time.Since(began), c.rule.TTL*19/20)
	require.EqualValues(t, 1, sure.holders(t, "k"), "it is lost before it expires, or nobody has looked since")
	for _, p := range proxies {
		p.Flow(redistest.ToServer)
	}
	sure.mustReach(t, "k", 0)
	hold.Release()
	require.Equal(t, [HitsKinds]int64{1, 0, 1}, seen.sums(), "counted, returned, lost")
}

// TestServerWithoutMemory: a hold that the servers have forgotten takes a place again, unless
// others have taken all of them.
func TestServerWithoutMemory(t *testing.T) {
	t.Parallel()
	addrs := servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()
	l := limiterAt(t, cluster.Config{}, patient, addrs)
	c := l.mustHold(t, ConcurrencyRule{Name: "c", Limit: 1, TTL: 4 * time.Second})
	forget := func(key string) {
		p := l.pipe()
		defer l.unpipe(p)
		p.Cmd("DEL", c.head+key)
		require.NoError(t, p.Do(t.Context()))
	}
	kept, _ := c.mustAcquire(t, "kept")
	taken, _ := c.mustAcquire(t, "taken")
	forget("kept")
	forget("taken")
	c.mustAcquire(t, "taken")
	require.Eventually(t, func() bool { return isLost(taken) }, soonEnough, often)
	c.mustReach(t, "kept", 1)
	require.False(t, isLost(kept))
}

// TestCloseReleases what is held still, and what is released after it does nothing.
func TestCloseReleases(t *testing.T) {
	t.Parallel()
	addrs := redistest.StartEmulated(t, 3).Addrs()
	client, err := cluster.Config{}.New(t.Context(), addrs)
	require.NoError(t, err)
	defer client.Close()
	seen := new(ledger)
	l, err := Config{Budget: 10 * time.Second, Observer: seen}.New(client)
	require.NoError(t, err)
	open := l.mustHold(t, ConcurrencyRule{Name: "c", Limit: 3})
	closed := l.mustHold(t, ConcurrencyRule{Name: "c", Limit: 3, FailClosed: true})
	var holds []*Hold
	for range 3 {
		hold, d := open.Acquire(t.Context(), "k")
		require.True(t, d.Allowed)
		holds = append(holds, hold)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { assert.NoError(t, l.Close()) })
	}
	all.Go(holds[0].Release)
	all.Wait()
	for _, hold := range holds[1:] {
		require.True(t, isLost(hold))
		hold.Release()
	}
	require.Equal(t, [HitsKinds]int64{3, 3, 0}, seen.sums())
	next := limiterAt(t, cluster.Config{}, patient, addrs).mustHold(t, open.rule)
	require.Zero(t, next.holders(t, "k"))
	hold, d := open.Acquire(t.Context(), "k")
	require.Nil(t, hold)
	require.True(t, d.Allowed)
	require.ErrorIs(t, d.Err, redislanes.ErrClosed)
	_, d = closed.Acquire(t.Context(), "k")
	require.False(t, d.Allowed)
	require.ErrorIs(t, d.Err, redislanes.ErrClosed)
}

// TestConcurrencyWithoutRedis: an Acquire takes no longer than the budget.
func TestConcurrencyWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, seen := newWorld(t), new(outcomes)
		l := w.limiter(t, Config{Budget: 30 * time.Millisecond, Observer: seen})
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		for _, closed := range []bool{false, true} {
			began := time.Now()
			hold, d := l.mustHold(t, ConcurrencyRule{Name: "c", Limit: 1, FailClosed: closed}).Acquire(t.Context(), "k")
			require.Equal(t, 30*time.Millisecond, time.Since(began))
			require.Error(t, d.Err)
			require.Equal(t, !closed, d.Allowed)
			hold.Release()
			require.Nil(t, hold.Lost())
		}
		require.Equal(t, outcomes{"failed_open", "failed_closed"}, *seen)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, d := l.mustHold(t, ConcurrencyRule{Name: "c", Limit: 1}).Acquire(ctx, "k")
		require.Error(t, d.Err)
		require.Equal(t, 10*time.Millisecond, time.Since(began))
	})
}

func TestConcurrencyMistakes(t *testing.T) {
	t.Parallel()
	l := limiterAt(t, cluster.Config{}, patient, redistest.StartEmulated(t, 3).Addrs())
	for want, rule := range map[string]ConcurrencyRule{
		`ConcurrencyRule.Name = ""`: {Limit: 1}, `ConcurrencyRule.Name = "a:b"`: {Name: "a:b"}, "a: Limit = -1: must be 0 to": {Name: "a", Limit: -1},
		"Limit = 2000000": {Name: "a", Limit: 2e6}, "a: TTL = 10ms: must be 1s to 1h0m0s": {Name: "a", TTL: 10 * time.Millisecond}, "TTL = -1s": {Name: "a", TTL: -time.Second},
	} {
		_, err := l.Concurrency(rule)
		require.ErrorContains(t, err, want)
	}
	_, err := new(Limiter).Concurrency(ConcurrencyRule{Name: "a"})
	require.ErrorIs(t, err, errNotMade)
	for _, unmade := range []*Concurrency{nil, {}} {
		hold, d := unmade.Acquire(t.Context(), "k")
		require.Nil(t, hold)
		require.False(t, d.Allowed)
		require.Equal(t, Mistaken, d.Outcome())
	}
	var none context.Context
	_, d := l.mustHold(t, ConcurrencyRule{Name: "a", Limit: 1}).Acquire(none, "k")
	require.ErrorIs(t, d.Err, errNilContext)
	_, d = l.mustHold(t, ConcurrencyRule{Name: "a"}).Acquire(t.Context(), "k")
	require.Equal(t, Decision{RetryAfter: Never}, d)
}
