package engine

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/redistest"
)

// TestTopologyIsTold: the first map, slots that move, and a node that leaves.
func TestTopologyIsTold(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 2)
	client, w := tracedClient(t, e.Addrs(), Config{RefreshEvery: -1})
	addrs := e.Addrs()
	sorted := slices.Sorted(slices.Values(addrs))
	ctx := servers.Within(t, 10*time.Second)
	next := func() topologyChange {
		require.NoError(t, client.Sync(ctx))
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Len(t, w.changes, 1)
		c := w.changes[0]
		w.changes = nil
		return c
	}
	first := next()
	require.Equal(t, sorted, first.joined)
	require.Equal(t, slots.Count, first.moved)
	slot := slots.Of("moves")
	owner := e.Owner(slot)
	e.Move(slot, 1-owner)
	require.Equal(t, topologyChange{moved: 1}, next())
	for slot := range uint16(slots.Count) {
		e.Move(slot, 0)
	}
	last := next()
	require.Equal(t, []string{addrs[1]}, last.left)
	require.Empty(t, last.joined)
	require.NoError(t, client.Sync(ctx))
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(t, w.changes, "the same map is no change")
}

// A connLog counts what it is told of connections, and asks the client something
// meanwhile, which it could not under a lock.
type connLog struct {
	mu             sync.Mutex
	client         *Client
	dialed, failed int
	closed         map[string]int
}

func (l *connLog) trace() *redislanes.Trace {
	return &redislanes.Trace{
		Dialed: func(_ *redislanes.PoolInfo, _ time.Duration, err error) {
			l.note(func() {
				if err == nil {
					l.dialed++
				} else {
					l.failed++
				}
			})
		},
		ConnClosed: func(p *redislanes.PoolInfo, reason string, err error) {
			if err == nil || p == nil {
				panic("a connection without a life, a reason or a pool")
			}
			l.note(func() { l.closed[reason]++ })
		},
	}
}

func (l *connLog) note(what func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		_ = l.client.Stats()
	}
	what()
}

func (l *connLog) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := l.dialed
	for _, n := range l.closed {
		open -= n
	}
	return open
}

// TestConnectionsAreTold: the trace's calls add up to the pools' own counts, for every kind,
// and to no connection after Close.
func TestConnectionsAreTold(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]nodepool.Settings{"laned": {}, "fixed": {Kind: nodepool.KindFixed, Max: 3}, "adaptive": {Kind: nodepool.KindAdaptive, Max: 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 3)
			log := &connLog{closed: make(map[string]int)}
			client, err := Config{Pool: kind, Trace: log.trace()}.New(t.Context(), e.Addrs())
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Close() })
			log.mu.Lock()
			log.client = client
			log.mu.Unlock()
			for _, key := range redistest.KeysInSlots(9, "conns") {
				require.NoError(t, client.do(t.Context(), "INCR", key))
				require.NoError(t, client.WithConn(t.Context(), int32(slots.Of(key)), How{}, func(*nodepool.Dedicated) error { return nil }))
			}
			same := func() bool {
				open := 0
				for _, n := range client.Stats().Nodes {
					open += n.Pool.Open
				}
				return open == log.open() && open >= 3
			}
			require.Eventually(t, same, 10*time.Second, time.Millisecond)
			require.NoError(t, client.Close())
			require.Zero(t, log.open())
			require.NotZero(t, log.closed["client"])
		})
	}
}

// TestTraceIsToldOfPools: each pool once, however many callers make it, and
// again when the node has left; not when the client is closed.
func TestTraceIsToldOfPools(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 2)
	w := new(witness)
	client, _ := watchedClient(t, e, Config{Trace: w.trace(), Pool: nodepool.Settings{Kind: nodepool.KindFixed, Max: 1}, RefreshEvery: -1})
	w.client.Store(client)
	keys := redistest.KeysInSlots(10, "observed")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for _, key := range keys {
				if err := client.do(servers.Within(t, 10*time.Second), "INCRBY", key, "1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want := map[redislanes.PoolInfo]int{}
	waits := 0
	for _, n := range client.Stats().Nodes {
		want[redislanes.PoolInfo{Addr: n.Pool.Addr, Role: "primary", Kind: "fixed"}] = 1
		waits += int(n.Pool.WaitCount)
	}
	require.Len(t, want, 2)
	w.mu.Lock()
	require.Equal(t, want, w.pools)
	require.Equal(t, waits, w.waits)
	require.Positive(t, waits, "20 callers, one connection")
	w.mu.Unlock()

	for slot := range uint16(slots.Count) {
		e.Move(slot, 0)
	}
	require.NoError(t, client.Sync(servers.Within(t, 10*time.Second)))
	delete(want, redislanes.PoolInfo{Addr: e.Addrs()[1], Role: "primary", Kind: "fixed"})
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.pools) == 1
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, client.Close())
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Equal(t, want, w.pools)
}
