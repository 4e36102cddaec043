package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A step is one hit and the total its caller got: an edge from the total before
// it to the total after it.
type step struct{ by, total int64 }

// sequential reports an error unless there is an order in which sequential
// INCRBYs would have returned the totals: a trail through all edges from start
// to the end. There is one exactly if each total is left as often as it is
// reached, but for start and end, and all edges hang together (Euler; the
// theorem for directed graphs).
func sequential(steps []step, start, end int64) error {
	balance := map[int64]int{start: 1}
	balance[end]--
	parent := make(map[int64]int64)
	var find func(v int64) int64
	find = func(v int64) int64 {
		if p, ok := parent[v]; ok && p != v {
			root := find(p)
			parent[v] = root
			return root
		}
		return v
	}
	for _, s := range steps {
		from := s.total - s.by
		balance[from]--
		balance[s.total]++
		if a, b := find(from), find(s.total); a != b {
			parent[a] = b
		}
	}
	for total, n := range balance {
		if n != 0 {
			return fmt.Errorf("the total %d is reached %d times more often than it is left", total, n)
		}
	}
	for _, s := range steps {
		if find(s.total) != find(start) {
			return fmt.Errorf("no order of the increments reaches the total %d", s.total)
		}
	}
	return nil
}

func TestSequential(t *testing.T) {
	require.NoError(t, sequential(nil, 3, 3))
	require.NoError(t, sequential([]step{{5, 5}, {-2, 3}, {0, 3}, {1, 4}}, 0, 4))
	require.Error(t, sequential([]step{{1, 1}, {1, 1}}, 0, 2), "a total given twice")
	require.Error(t, sequential([]step{{1, 2}, {1, 1}}, 0, 1), "a loop is missing")
	require.Error(t, sequential([]step{{1, 1}, {3, 13}, {-3, 10}}, 0, 1), "two trails")
}

// TestCountersModel compares many concurrent hits, of any sign, on few keys with
// sequential INCRBYs.
func TestCountersModel(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client := open(t, cluster.Config{}, real.Addrs())
	counters := pipeline.NewCounters(client, pipeline.CountersConfig{})
	const callers, calls = 32, 200
	keys := redistest.KeysInSlots(6, "model")
	var mu sync.Mutex
	steps := make(map[string][]step)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 1))
			hits := make([]pipeline.Hit, 4)
			for range calls {
				for i := range hits { // a key may come twice
					hits[i] = pipeline.Hit{Key: keys[random.IntN(len(keys))], By: random.Int64N(9) - 4, TTL: time.Duration(random.IntN(3)) * time.Hour}
				}
				if err := counters.Hit(within(t, 20*time.Second), hits); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, h := range hits {
					steps[h.Key] = append(steps[h.Key], step{h.By, h.Total})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.NoError(t, counters.Close())
	hits := 0
	for _, key := range keys {
		var end int64
		require.NoError(t, client.Do(within(t, 5*time.Second), radix.Cmd(&end, "GET", key)))
		require.NoError(t, sequential(steps[key], 0, end), key)
		hits += len(steps[key])
	}
	require.Equal(t, callers*calls*4, hits)
	sent := incrbys(t, real)
	t.Logf("%d hits, %d INCRBY", hits, sent)
	require.Less(t, sent, hits, "hits were merged")
}

// incrbys returns how many INCRBY the cluster has executed.
func incrbys(t *testing.T, c *servers.Cluster) (n int) {
	t.Helper()
	for _, node := range c.Nodes() {
		var stats string
		require.NoError(t, node.Do(within(t, 5*time.Second), &stats, "INFO", "commandstats"))
		var calls int
		for line := range strings.Lines(stats) {
			if _, err := fmt.Sscanf(line, "cmdstat_incrby:calls=%d", &calls); err == nil {
				n += calls
			}
		}
	}
	return n
}

// A tower holds up flights: counters behind a proxy whose streams can be
// stalled.
type tower struct {
	*redistest.Emulated
	proxies  redistest.Proxies
	proxy    *redistest.Proxy // of node 0
	counters *pipeline.Counters
}

func newTower(t *testing.T, c pipeline.CountersConfig) *tower { return newTowers(t, 1, c) }

// newTowers is a tower for several nodes, which the client is connected to.
func newTowers(t *testing.T, nodes int, c pipeline.CountersConfig) *tower {
	e := redistest.StartEmulated(t, nodes)
	proxies := redistest.StartProxies(t, e.Addrs())
	client := open(t, cluster.Config{AddrMap: proxies.AddrMap, Pool: pool.Laned{Lanes: 1}}, e.Addrs())
	counters := pipeline.NewCounters(client, c)
	t.Cleanup(func() { require.NoError(t, counters.Close()) })
	for _, key := range redistest.KeysInSlots(nodes, "warm") {
		require.NoError(t, counters.Hit(within(t, 10*time.Second), []pipeline.Hit{{Key: key, By: 1}}))
	}
	return &tower{e, proxies, proxies[e.Addrs()[0]], counters}
}

// hit makes a call of one hit.
func (w *tower) hit(ctx context.Context, h *pipeline.Hit) chan error {
	return w.call(ctx, h, *h)
}

// lead makes a call whose flight has two hits, so that others on the key wait behind it:
// a hit, and one that adds nothing.
func (w *tower) lead(ctx context.Context, h *pipeline.Hit) chan error {
	return w.call(ctx, h, *h, pipeline.Hit{Key: h.Key})
}

// call makes a call, of which h becomes the first hit.
func (w *tower) call(ctx context.Context, h *pipeline.Hit, hits ...pipeline.Hit) chan error {
	done := make(chan error, 1)
	go func() {
		err := w.counters.Hit(ctx, hits)
		*h = hits[0]
		done <- err
	}()
	return done
}

// hold lets a flight leave and be executed, and its reply not arrive: others wait.
func (w *tower) hold(t *testing.T, h *pipeline.Hit) chan error {
	t.Helper()
	w.proxy.Stall(redistest.ToClient)
	before := w.Calls(0, "INCRBY")
	done := w.lead(within(t, 20*time.Second), h)
	require.Eventually(t, func() bool { return w.Calls(0, "INCRBY") > before }, 10*time.Second, 100*time.Microsecond)
	return done
}

// gather lets hits wait for the flight that is held, one after the other.
func (w *tower) gather(t *testing.T, hits []pipeline.Hit) (done []chan error) {
	t.Helper()
	for i := range hits {
		waiting := w.counters.Waiting(hits[i].Key)
		done = append(done, w.hit(within(t, 20*time.Second), &hits[i]))
		w.awaitWaiting(t, hits[i].Key, waiting+1)
	}
	return done
}

func (w *tower) awaitWaiting(t *testing.T, key string, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return w.counters.Waiting(key) == n }, 10*time.Second, 100*time.Microsecond)
}

// TestHitsGather: what comes while a flight is out travels as one command, and
// each gets its own total and the longest time to live.
func TestHitsGather(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	before := w.Calls(0, "INCRBY")
	first := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
	hits := []pipeline.Hit{
		{Key: "k", By: 10, TTL: time.Minute}, {Key: "k", By: 0}, {Key: "k", By: 5, TTL: time.Hour}, {Key: "k", By: 100, TTL: time.Second},
	}
	others := w.gather(t, hits)
	w.proxy.Flow(redistest.ToClient)
	require.NoError(t, <-first)
	for i, want := range []int64{11, 11, 16, 116} {
		require.NoError(t, <-others[i])
		require.Equal(t, want, hits[i].Total)
	}
	require.Equal(t, 2, w.Calls(0, "INCRBY")-before)
	require.Equal(t, 1, w.Calls(0, "EXPIRE"))
	require.Equal(t, time.Hour, w.Nodes()[0].TTL("k"))
}

// TestHitsBesideEachOther: a few flights of one key are out at a time, while each has
// one hit. What comes then gathers.
func TestHitsBesideEachOther(t *testing.T) {
	t.Parallel()
	const beside, all = 8, 11
	w := newTower(t, pipeline.CountersConfig{})
	before := w.Calls(0, "INCRBY")
	w.proxy.Stall(redistest.ToClient)
	hits := make([]pipeline.Hit, all)
	var done []chan error
	for i := range hits {
		hits[i] = pipeline.Hit{Key: "k", By: 1, TTL: time.Hour}
		done = append(done, w.hit(within(t, 20*time.Second), &hits[i]))
		if i < beside {
			require.Eventually(t, func() bool { return w.Calls(0, "INCRBY") == before+i+1 }, 10*time.Second, 100*time.Microsecond)
		} else {
			w.awaitWaiting(t, "k", i+1-beside)
		}
	}
	w.proxy.Flow(redistest.ToClient)
	for i := range hits {
		require.NoError(t, <-done[i])
		require.EqualValues(t, i+1, hits[i].Total)
	}
	require.Equal(t, before+beside+1, w.Calls(0, "INCRBY"))
}

// TestHitsOfBothSigns: totals in between must not overflow, so that plus and
// minus do not travel together.
func TestHitsOfBothSigns(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	first := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
	// The emulated server counts with an int.
	hits := []pipeline.Hit{{Key: "k", By: math.MaxInt - 1}, {Key: "k", By: -5}, {Key: "k", By: 3}, {Key: "k", By: -1}}
	others := w.gather(t, hits)
	w.proxy.Flow(redistest.ToClient)
	require.NoError(t, <-first)
	for i, want := range []int64{math.MaxInt, math.MaxInt - 5, math.MaxInt - 2, math.MaxInt - 3} {
		require.NoError(t, <-others[i])
		require.Equal(t, want, hits[i].Total)
	}
}

// TestHitsThatOverflow, on a real server: only those that would have overflowed
// alone are told.
func TestHitsThatOverflow(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	client := open(t, cluster.Config{Pool: pool.Laned{Lanes: 1}}, []string{proxy.Addr()})
	w := &tower{proxy: proxy, counters: pipeline.NewCounters(client, pipeline.CountersConfig{})}
	defer w.counters.Close()
	ctx := within(t, 20*time.Second)
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", "k", fmt.Sprint(int64(math.MaxInt64-11)))))
	proxy.Stall(redistest.ToClient)
	first := w.lead(ctx, &pipeline.Hit{Key: "k", By: 1})
	require.Eventually(t, func() bool {
		var n int64
		return server.Nodes()[0].Do(ctx, &n, "GET", "k") == nil && n == math.MaxInt64-10
	}, 10*time.Second, time.Millisecond)
	hits := []pipeline.Hit{{Key: "k", By: 4}, {Key: "k", By: 20}, {Key: "k", By: 5}, {Key: "k", By: 2}}
	others := w.gather(t, hits)
	proxy.Flow(redistest.ToClient)
	require.NoError(t, <-first)
	for i, want := range []int64{math.MaxInt64 - 6, 0, math.MaxInt64 - 1, 0} {
		err := <-others[i]
		require.Equal(t, want, hits[i].Total)
		require.Equal(t, want == 0, err != nil, "%v", err)
		if err != nil {
			require.ErrorContains(t, err, "overflow")
		}
	}
}

// TestLeavingAFlight: who leaves while its hit gathers takes it back; who leaves
// while it is under way does not disturb the others, and is told that it is
// unknown.
func TestLeavingAFlight(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	first := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
	hits := []pipeline.Hit{{Key: "k", By: 10}, {Key: "k", By: 200}}
	others := w.gather(t, hits[:1])
	ctx, cancel := context.WithCancel(t.Context())
	gone := pipeline.Hit{Key: "k", By: 3000}
	left := w.hit(ctx, &gone)
	w.awaitWaiting(t, "k", 2)
	cancel()
	err := <-left
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, gone.Err, redislanes.ErrNotSent)
	require.NotErrorIs(t, gone.Err, redislanes.ErrUnknownOutcome)
	w.awaitWaiting(t, "k", 1)

	// One that leaves with its flight, and one that shares it.
	ctx, cancel = context.WithCancel(t.Context())
	late := pipeline.Hit{Key: "k", By: 40_000}
	left = w.hit(ctx, &late)
	w.awaitWaiting(t, "k", 2)
	others = append(others, w.gather(t, hits[1:])...)
	w.proxy.Stall(redistest.ToServer) // so that the next flight leaves and does not arrive
	w.proxy.Flow(redistest.ToClient)
	require.NoError(t, <-first)
	w.awaitWaiting(t, "k", 0)
	cancel()
	require.ErrorIs(t, <-left, redislanes.ErrUnknownOutcome)
	require.ErrorIs(t, late.Err, redislanes.ErrUnknownOutcome)
	require.NotErrorIs(t, late.Err, redislanes.ErrNotSent)
	w.proxy.Flow(redistest.ToServer)
	for _, done := range others {
		require.NoError(t, <-done)
	}
	require.Equal(t, []int64{11, 40_211}, []int64{hits[0].Total, hits[1].Total}, "it was counted all the same")
}

// TestOwnFlightAtTheDeadline: the caller that carries a flight itself leaves at
// its deadline, and those who wait behind it are served.
func TestOwnFlightAtTheDeadline(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	w.proxy.Stall(redistest.ToClient)
	ctx, cancel := context.WithCancel(t.Context())
	own := pipeline.Hit{Key: "k", By: 1}
	left := w.lead(ctx, &own)
	require.Eventually(t, func() bool { return w.Calls(0, "INCRBY") == 2 }, 10*time.Second, 100*time.Microsecond)
	hits := []pipeline.Hit{{Key: "k", By: 10}}
	others := w.gather(t, hits)
	cancel()
	require.ErrorIs(t, <-left, redislanes.ErrUnknownOutcome)
	w.proxy.Flow(redistest.ToClient)
	require.NoError(t, <-others[0])
	require.EqualValues(t, 11, hits[0].Total)
}

// TestCloseWaitsForFlights: nothing of Counters runs when Close has returned.
func TestCloseWaitsForFlights(t *testing.T) {
	t.Parallel()
	w := newTower(t, pipeline.CountersConfig{})
	first := w.hold(t, &pipeline.Hit{Key: "k", By: 1})
	hits := []pipeline.Hit{{Key: "k", By: 10}, {Key: "k", By: 20}}
	others := w.gather(t, hits)
	closed := make(chan error, 1)
	go func() { closed <- w.counters.Close() }()
	require.Eventually(t, func() bool {
		return errors.Is(w.counters.Hit(t.Context(), nil), redislanes.ErrClosed)
	}, 10*time.Second, time.Millisecond)
	select {
	case err := <-closed:
		t.Fatal("Close did not wait", err)
	default:
	}
	w.proxy.Flow(redistest.ToClient)
	require.NoError(t, <-closed)
	require.NoError(t, <-first)
	for _, done := range others {
		require.NoError(t, <-done)
	}
	require.Equal(t, []int64{11, 31}, []int64{hits[0].Total, hits[1].Total})
}
