package places

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
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// patient is a budget that a slow machine keeps.
const patient = 10 * time.Second

const soonEnough, often = 20 * time.Second, 5 * time.Millisecond // for require.Eventually

// semaphoreAt returns a semaphore with a client of its own.
func semaphoreAt(t *testing.T, of cluster.Config, c Config, addrs []string) *Semaphore {
	t.Helper()
	client, err := of.New(t.Context(), addrs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return mustMake(t, client, c)
}

func mustMake(t *testing.T, client *cluster.Client, c Config) *Semaphore {
	t.Helper()
	s, err := c.New(client)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// A ledger counts what an observer is told.
type ledger struct {
	mu                              sync.Mutex
	allowed, denied, released, lost int
}

func (l *ledger) Acquired(_ time.Duration, _ *Semaphore, d Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.Allowed {
		l.allowed++
	} else {
		l.denied++
	}
}

func (l *ledger) Ended(_ *Semaphore, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost {
		l.lost++
	} else {
		l.released++
	}
}

// sums returns how many were allowed, denied, released and lost.
func (l *ledger) sums() [4]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return [4]int{l.allowed, l.denied, l.released, l.lost}
}

// held returns how many members the key has, expired ones, too.
func (c *Semaphore) held(key string) (int64, error) {
	return c.do(context.Background(), func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("ZCARD", c.head+key) })
}

func (c *Semaphore) holders(t *testing.T, key string) int64 {
	t.Helper()
	n, err := c.held(key)
	require.NoError(t, err)
	return n
}

// mustReach waits until the key has n members. It asks again if Redis does not reply.
func (c *Semaphore) mustReach(t *testing.T, key string, n int64) {
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

// mustAcquire takes a place of the key, and returns when the call began that got it. On a slow
// machine the server may be suspect, or its answer late. Such a call holds nothing, and is repeated.
func (c *Semaphore) mustAcquire(t *testing.T, key string) (*Hold, time.Time) {
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

func TestSemaphore(t *testing.T) {
	t.Parallel()
	seen := new(ledger)
	c := semaphoreAt(t, cluster.Config{}, Config{Name: "exports", Max: 2, Budget: patient, Observer: seen}, redistest.StartEmulated(t, 3).Addrs())
	require.Equal(t, 10*time.Second, c.Config().TTL)
	first, d := c.Acquire(t.Context(), "acme")
	require.Equal(t, Decision{Allowed: true, Free: 1}, d)
	_, d = c.Acquire(t.Context(), "acme")
	require.Equal(t, Decision{Allowed: true}, d)
	none, d := c.Acquire(t.Context(), "acme")
	require.Nil(t, none)
	require.Equal(t, Decision{RetryAfter: time.Second}, d)
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
	require.Equal(t, [4]int{4, 2, 1, 0}, seen.sums())
}

// TestHoldersNeverExceeded: eight semaphores with clients of their own never have more holders
// together than Max, also through failovers that lose no write, and use all places.
func TestHoldersNeverExceeded(t *testing.T) {
	t.Parallel()
	const limit, clients, callers = 5, 8, 12
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	var holding, most, taken atomic.Int64
	var all sync.WaitGroup
	over := make(chan struct{})
	for range clients {
		c := semaphoreAt(t, cluster.Config{}, Config{Name: "c", Max: limit, FailClosed: true, Budget: patient}, real.Addrs())
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
		config := Config{Name: "c", Max: 1, TTL: 3 * time.Second}
		c, other := mustMake(t, w.client, config), mustMake(t, w.client, config)
		var holds []*Hold
		for i := range 300 {
			hold, d := c.Acquire(t.Context(), fmt.Sprint(i))
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
	})
}

// TestDeadHolder: the place of a process that has gone comes back after its time to live, and
// not before the holder could know that it is lost.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	addrs := servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()
	client, err := cluster.Config{}.New(t.Context(), addrs)
	require.NoError(t, err)
	config := Config{Name: "c", Max: 2, TTL: 2 * time.Second, FailClosed: true, Budget: patient}
	hold, began := mustMake(t, client, config).mustAcquire(t, "k")
	require.NoError(t, client.Close())
	other := semaphoreAt(t, cluster.Config{}, config, addrs)
	other.mustAcquire(t, "k") // the key lives on
	other.mustAcquire(t, "k")
	require.GreaterOrEqual(t, time.Since(began), config.TTL)
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
	proxies, behind := behindProxies(t, addrs)
	for _, closed := range []bool{false, true} {
		config := Config{Name: "c", Max: 1, TTL: time.Hour, FailClosed: closed, Budget: 300 * time.Millisecond}
		c := semaphoreAt(t, behind, config, addrs)
		config.Budget = patient
		sure := semaphoreAt(t, cluster.Config{}, config, addrs)
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
	proxies, behind := behindProxies(t, addrs)
	c := semaphoreAt(t, behind, Config{Name: "c", Max: 2, Budget: patient}, addrs)
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
	proxies, behind := behindProxies(t, addrs)
	seen := new(ledger)
	config := Config{Name: "c", Max: 2, TTL: 2 * time.Second, Budget: patient}
	sure := semaphoreAt(t, cluster.Config{}, config, addrs)
	config.Observer = seen
	c := semaphoreAt(t, behind, config, addrs)
	hold, began := c.mustAcquire(t, "k")
	for _, p := range proxies {
		p.Stall(redistest.ToServer)
	}
	<-hold.Lost()
	require.GreaterOrEqual(t, time.Since(began), config.TTL*19/20)
	require.EqualValues(t, 1, sure.holders(t, "k"), "it is lost before it expires, or nobody has looked since")
	for _, p := range proxies {
		p.Flow(redistest.ToServer)
	}
	sure.mustReach(t, "k", 0)
	hold.Release()
	sums := seen.sums()
	require.Equal(t, []int{0, 1}, sums[2:], "released, lost")
}

// TestServerWithoutMemory: a hold that the servers have forgotten takes a place again, unless
// others have taken all of them.
func TestServerWithoutMemory(t *testing.T) {
	t.Parallel()
	addrs := servers.StartCluster(t, servers.Options{Primaries: 3}).Addrs()
	c := semaphoreAt(t, cluster.Config{}, Config{Name: "c", Max: 1, TTL: 4 * time.Second, Budget: patient}, addrs)
	forget := func(key string) {
		_, err := c.do(t.Context(), func(p *pipeline.Pipeline) pipeline.Reply { return p.Cmd("DEL", c.head+key) })
		require.NoError(t, err)
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
	for _, failClosed := range []bool{false, true} {
		seen := new(ledger)
		s, err := Config{Name: "c", Max: 3, Budget: patient, Observer: seen, FailClosed: failClosed}.New(client)
		require.NoError(t, err)
		var holds []*Hold
		for range 3 {
			hold, d := s.Acquire(t.Context(), "k")
			require.True(t, d.Allowed)
			holds = append(holds, hold)
		}
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { assert.NoError(t, s.Close()) })
		}
		all.Go(holds[0].Release)
		all.Wait()
		for _, hold := range holds[1:] {
			require.True(t, isLost(hold))
			hold.Release()
		}
		require.Equal(t, [4]int{3, 0, 3, 0}, seen.sums())
		next := semaphoreAt(t, cluster.Config{}, Config{Name: "c", Max: 3, Budget: patient}, addrs)
		require.Zero(t, next.holders(t, "k"))
		hold, d := s.Acquire(t.Context(), "k")
		require.Nil(t, hold)
		require.Equal(t, !failClosed, d.Allowed)
		require.ErrorIs(t, d.Err, redislanes.ErrClosed)
	}
}

// TestWithoutRedis: an Acquire takes no longer than the budget.
func TestWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		for _, closed := range []bool{false, true} {
			s := mustMake(t, w.client, Config{Name: "c", Max: 1, FailClosed: closed, Budget: 30 * time.Millisecond})
			began := time.Now()
			hold, d := s.Acquire(t.Context(), "k")
			require.Equal(t, 30*time.Millisecond, time.Since(began))
			require.Error(t, d.Err)
			require.Equal(t, !closed, d.Allowed)
			hold.Release()
			require.Nil(t, hold.Lost())
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			began = time.Now()
			_, d = s.Acquire(ctx, "k")
			cancel()
			require.Error(t, d.Err)
			require.Equal(t, 10*time.Millisecond, time.Since(began))
		}
	})
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	client, err := cluster.Config{}.New(t.Context(), redistest.StartEmulated(t, 3).Addrs())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	for want, config := range map[string]Config{
		`Config.Name = ""`: {Max: 1}, `Config.Name = "a:b"`: {Name: "a:b", Max: 1},
		"Config.Max = 0: must be 1 to": {Name: "a"}, "Config.Max = 2000000": {Name: "a", Max: 2e6},
		"Config.TTL = 10ms: must be 1s to 1h0m0s": {Name: "a", Max: 1, TTL: 10 * time.Millisecond}, "Config.TTL = -1s": {Name: "a", Max: 1, TTL: -time.Second},
		"a number without a unit counts nanoseconds": {Name: "a", Max: 1, TTL: 60},
	} {
		_, err := config.New(client)
		require.ErrorContains(t, err, want)
	}
	for _, unmade := range []*cluster.Client{nil, {}} {
		_, err := Config{Name: "a", Max: 1}.New(unmade)
		require.ErrorContains(t, err, "cluster.Config.New")
	}
	for _, unmade := range []*Semaphore{nil, {}} {
		hold, d := unmade.Acquire(t.Context(), "k")
		require.Nil(t, hold)
		require.Equal(t, Decision{Err: errNotMade}, d)
		require.ErrorIs(t, unmade.Close(), errNotMade)
		require.Zero(t, unmade.Config())
	}
	for _, none := range []*Hold{nil, {}} {
		none.Release()
		require.Nil(t, none.Lost())
	}
	var none context.Context
	_, d := mustMake(t, client, Config{Name: "a", Max: 1}).Acquire(none, "k")
	require.Equal(t, Decision{Err: errNilContext}, d)
}
