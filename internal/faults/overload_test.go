package faults

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// slowCluster is a cluster behind links with so many bytes a second for each
// connection, so that what it carries is known and less than this machine can do.
func slowCluster(t *testing.T, kind pool.Config, bytesPerSecond int) *cluster.Client {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	proxies := redistest.StartProxies(t, real.Addrs())
	for _, p := range proxies {
		p.Throttle(redistest.ToServer, bytesPerSecond)
	}
	return open(t, cluster.Config{Pool: kind, AddrMap: proxies.AddrMap}, real.Addrs())
}

// TestOverload: four times the calls that the links carry, each with a deadline of 100 ms.
// Memory stays flat, and each call ends in time.
func TestOverload(t *testing.T) {
	type setting struct {
		kind           pool.Config
		bytesPerSecond int
	}
	waiters, during := 200, 3*time.Second
	o := pool.Options{MaxWaiters: waiters}
	settings := map[string]setting{
		"laned": {pool.Laned{Lanes: 2, MaxInFlight: 32, Options: o}, 50_000},
		"fixed": {pool.Fixed{Size: 10, Options: o}, 10_000},
	}
	if !strict { // the same, smaller: what is left of busy processors must do
		waiters, during = 50, time.Second
		o.MaxWaiters = waiters
		settings = map[string]setting{
			"laned": {pool.Laned{Lanes: 2, MaxInFlight: 13, Options: o}, 20_000},
			"fixed": {pool.Fixed{Size: 4, Options: o}, 10_000},
		}
	}
	for name, c := range settings {
		t.Run(name, func(t *testing.T) {
			client := slowCluster(t, c.kind, c.bytesPerSecond)
			ctx := servers.Within(t, 60*time.Second)
			keys := redistest.KeysInSlots(6, "overload")
			l := startLoad(client, 50, keys, 0)
			began := time.Now()
			until(t, ctx, "the rate is known", func() bool { return l.calls.Load() > 200 })
			carried := float64(l.calls.Load()) / time.Since(began).Seconds()
			l.end()
			require.Zero(t, l.failedCalls.Load(), "%v", l.first)

			l.deadline = 100 * time.Millisecond
			before := heap()
			var late [servers.BareWaits]time.Duration
			stop := servers.StartBareWaits(func(i int, deadline, back time.Time) { late[i] = max(late[i], back.Sub(deadline)) })
			t.Cleanup(stop)
			peak, exhausted := l.flood(ctx, t, client, 4*carried, during)
			stop()
			bare := slices.Max(late[:])
			t.Logf("carries %.0f calls/s, got %.0f; %v; latest %v after its deadline, a bare wait %v; heap %d KiB before, at most %d KiB",
				carried, 4*carried, l, l.worst().Round(10*time.Microsecond), bare.Round(10*time.Microsecond), before>>10, peak>>10)
			require.NotZero(t, sum(l.undone), "no overload: every call was sent")
			require.LessOrEqual(t, l.worst(), grace()+bare)
			require.Less(t, peak, before+32<<20)
			if exhausted != nil {
				require.ErrorContains(t, exhausted, "127.0.0.1:")
				require.ErrorContains(t, exhausted, fmt.Sprint(waiters, " callers waiting"))
			}
			until(t, ctx, "nothing is in flight", func() bool {
				for _, n := range client.Stats().Nodes {
					if n.Pool.InFlight()+n.Pool.Waiters > 0 {
						return false
					}
				}
				return true
			})
			l.verify(t, client, true)
		})
	}
}

// flood makes calls at a rate for some time and waits for their ends. It returns
// the largest heap seen and an ErrExhausted, if there was one.
func (l *load) flood(ctx context.Context, t *testing.T, client *cluster.Client, rate float64, during time.Duration) (peak uint64, exhausted error) {
	t.Helper()
	var calls sync.WaitGroup
	var full atomic.Value
	pipelines := sync.Pool{New: func() any { return pipeline.New(client) }}
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	began, made := time.Now(), 0
	due := 0.0
	for last, now := began, began; now.Sub(began) < during; {
		// What a machine that stood still has missed is not made up for at once:
		// that would be another load, and its heap.
		due += rate * min(now.Sub(last), 50*time.Millisecond).Seconds()
		last = now
		for ; made < int(due); made++ {
			calls.Go(func() {
				p := pipelines.Get().(*pipeline.Pipeline)
				if err := l.call(p); errors.Is(err, redislanes.ErrExhausted) {
					full.Store(err)
				}
				pipelines.Put(p)
			})
		}
		if made%64 == 0 {
			peak = max(peak, heap())
		}
		select {
		case now = <-ticker.C:
		case <-ctx.Done():
			t.Fatal("the flood does not end")
		}
	}
	peak = max(peak, heap())
	calls.Wait()
	exhausted, _ = full.Load().(error)
	return peak, exhausted
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestExhausted: a call that finds everything full fails at once, with the node and the
// limit.
func TestExhausted(t *testing.T) {
	for name, c := range map[string]struct {
		kind  pool.Config
		limit string
	}{
		"fail fast": {pool.Fixed{Size: 1, Options: pool.Options{MaxWaiters: -1}}, "1 connections in use"},
		"waiters":   {pool.Fixed{Size: 1, Options: pool.Options{MaxWaiters: 1}}, "1 callers waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			server := servers.StartServer(t, servers.Options{})
			client := open(t, cluster.Config{Pool: c.kind}, server.Addrs())
			warm(t, client)
			occupy(t, client)
			l := startLoad(client, 4, []string{"k"}, 0)
			until(t, servers.Within(t, 20*time.Second), "calls fail", func() bool { return sum(l.undone) > 100 })
			l.mu.Lock()
			err := l.first
			l.mu.Unlock()
			require.ErrorIs(t, err, redislanes.ErrExhausted)
			require.ErrorContains(t, err, server.Addrs()[0])
			require.ErrorContains(t, err, c.limit)
			l.stop()
			require.NoError(t, client.Close()) // ends the one that waits
			l.end()
		})
	}
}
