package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/redistest"
)

// A witness is a trace that remembers. It asks the client something, which
// it could not if it were called with a lock held.
type witness struct {
	client atomic.Pointer[Client]

	mu       sync.Mutex
	requests []redislanes.RequestInfo
	waits    int
	pools    map[redislanes.PoolInfo]int // without those of nodes that have left
}

func (w *witness) ask() {
	if c := w.client.Load(); c != nil {
		_ = c.Stats()
	}
}

// note calls f under the lock.
func (w *witness) note(f func()) {
	w.ask()
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *witness) trace() *redislanes.Trace {
	return &redislanes.Trace{
		EndRequest: func(_ context.Context, _ redislanes.RequestStart, r redislanes.RequestInfo) {
			w.note(func() { w.requests = append(w.requests, r) })
		},
		PoolOpened: func(p *redislanes.PoolInfo) {
			w.note(func() {
				if w.pools == nil {
					w.pools = make(map[redislanes.PoolInfo]int)
				}
				w.pools[*p]++
			})
		},
		Waited: func(redislanes.WaitInfo) { w.note(func() { w.waits++ }) },
		PoolClosed: func(p *redislanes.PoolInfo) {
			w.note(func() {
				if w.pools[*p]--; w.pools[*p] == 0 {
					delete(w.pools, *p)
				}
			})
		},
	}
}

// last returns the request that was told of last, and how many there were.
func (w *witness) last() (redislanes.RequestInfo, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) == 0 {
		return redislanes.RequestInfo{}, 0
	}
	return w.requests[len(w.requests)-1], len(w.requests)
}

// watchedClient returns a client of an emulated cluster whose clock goes on by a
// second at each reading, and the number of readings.
func watchedClient(t *testing.T, e *redistest.Emulated, c Config) (*Client, *atomic.Int64) {
	client := open(t, c, e.Addrs())
	var readings atomic.Int64
	client.tracer.now = func() time.Duration { return time.Duration(readings.Add(1)) * time.Second }
	return client, &readings
}

func TestTraceIsToldOfRequests(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	w := new(witness)
	client, readings := watchedClient(t, e, Config{Trace: w.trace(), RetryWindow: -1, RefreshEvery: -1})
	w.client.Store(client)
	keys := redistest.KeysInSlots(10, "observed")
	refused := e.Owner(slots.Of(keys[0]))

	count := func(ctx context.Context) (r Request) {
		for _, key := range keys {
			r.Commit(resp.AppendCommand(r.Buffer(), "INCRBY", key, "1"), int32(slots.Of(key)))
		}
		require.NoError(t, client.Exec(ctx, &r, How{}))
		return r
	}
	ctx := servers.Within(t, 10*time.Second)
	count(ctx)
	got, n := w.last()
	require.Equal(t, 1, n)
	require.Equal(t, redislanes.RequestInfo{Took: time.Second, Commands: 10, Trips: 3, Outcome: "ok"}, got)
	require.EqualValues(t, 2, readings.Load(), "the clock is read at the beginning and at the end")

	e.Inject(refused, func(cmd string, _ []string) string {
		if cmd == "INCRBY" {
			return "NOPERM not for you"
		}
		return ""
	})
	count(ctx)
	got, _ = w.last()
	require.Equal(t, "error", got.Outcome)
	require.Equal(t, "NOPERM", got.Code)
	require.NoError(t, got.Err, "each command has a reply")
	require.Positive(t, got.Failed)
	require.Less(t, got.Failed, 10)

	gone, cancel := context.WithCancel(ctx)
	cancel()
	count(gone)
	got, n = w.last()
	require.Equal(t, 3, n)
	require.ErrorIs(t, got.Err, context.Canceled)
	got.Err = nil
	require.Equal(t, redislanes.RequestInfo{Took: time.Second, Commands: 10, Failed: 10, Trips: 3, Outcome: "not_sent"}, got)

	require.Error(t, client.do(ctx, "INCRBY", keys[0], "1"))
	got, n = w.last()
	require.Equal(t, 4, n, "radix actions are requests, too")
	require.Equal(t, 1, got.Commands)

	var empty Request
	require.NoError(t, client.Exec(ctx, &empty, How{}))
	require.NoError(t, client.Close())
	require.Error(t, client.do(ctx, "INCRBY", keys[0], "1"))
	_, n = w.last()
	require.Equal(t, 4, n, "nothing was sent, and nothing is told")
}

// TestNoTraceNoClock gates the hot path: without a trace, and with one that is told of
// connections only.
func TestNoTraceNoClock(t *testing.T) {
	t.Parallel()
	for _, trace := range []*redislanes.Trace{nil, {Dialed: func(redislanes.DialInfo) {}}} {
		client, readings := watchedClient(t, redistest.StartEmulated(t, 1), Config{Trace: trace})
		for range 10 {
			require.NoError(t, client.do(servers.Within(t, 10*time.Second), "INCRBY", "hits", "1"))
		}
		require.Zero(t, readings.Load())
	}
}
