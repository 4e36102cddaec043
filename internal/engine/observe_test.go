package engine

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

// A witness is a trace that remembers. It asks the client something, which
// it could not if it were called with a lock held.
type witness struct {
	client atomic.Pointer[Client]

	mu    sync.Mutex
	waits int
	pools map[redislanes.PoolInfo]int // without those of nodes that have left
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
		PoolOpened: func(p *redislanes.PoolInfo) {
			w.note(func() {
				if w.pools == nil {
					w.pools = make(map[redislanes.PoolInfo]int)
				}
				w.pools[*p]++
			})
		},
		Waited: func(*redislanes.PoolInfo, time.Duration) { w.note(func() { w.waits++ }) },
		PoolClosed: func(p *redislanes.PoolInfo) {
			w.note(func() {
				if w.pools[*p]--; w.pools[*p] == 0 {
					delete(w.pools, *p)
				}
			})
		},
	}
}

// watchedClient returns a client of an emulated cluster whose clock goes on by a
// second at each reading, and the number of readings.
func watchedClient(t *testing.T, e *redistest.Emulated, c Config) (*Client, *atomic.Int64) {
	client := open(t, c, e.Addrs())
	var readings atomic.Int64
	client.tracer.now = func() time.Duration { return time.Duration(readings.Add(1)) * time.Second }
	return client, &readings
}

// TestNoTraceNoClock gates the hot path: without a trace, and with one that is told of
// connections only.
func TestNoTraceNoClock(t *testing.T) {
	t.Parallel()
	for _, trace := range []*redislanes.Trace{nil, {Dialed: func(*redislanes.PoolInfo, time.Duration, error) {}}} {
		client, readings := watchedClient(t, redistest.StartEmulated(t, 1), Config{Trace: trace})
		for range 10 {
			require.NoError(t, client.do(servers.Within(t, 10*time.Second), "INCRBY", "hits", "1"))
		}
		require.Zero(t, readings.Load())
	}
}
