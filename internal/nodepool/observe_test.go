package nodepool

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// A waitLog is a Trace.Waited that asks the pool something, which it could not if it
// were called with the pool's lock held.
type waitLog struct {
	pool  atomic.Pointer[Node]
	mu    sync.Mutex
	waits []time.Duration
}

func (w *waitLog) add(_ *redislanes.PoolInfo, took time.Duration) {
	if p := w.pool.Load(); p != nil {
		_ = p.figures()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = append(w.waits, took)
}

func (w *waitLog) total() (n int, sum time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wait := range w.waits {
		sum += wait
	}
	return len(w.waits), sum
}

// busyPool returns a pool that has one connection, a dedicated one, and what it tells.
func busyPool(t *testing.T) (*Node, *Dedicated, *waitLog) {
	server := redistest.StartEmulated(t, 1)
	log := new(waitLog)
	p, err := New(Fixed{Size: 1, Options: hearing(log.add)}, lanes.Dialer{}, server.Addrs()[0], nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	log.pool.Store(p)
	conn, err := p.Dedicate(within(t, 5*time.Second))
	require.NoError(t, err)
	until(t, "the wait for the dial is told", func() bool { n, _ := log.total(); return n == int(p.figures().WaitCount) })
	log.mu.Lock()
	log.waits = nil
	log.mu.Unlock()
	return p, conn, log
}

// TestWaitedIsToldOfEveryEnd queues batches and users, and ends their waits in
// each way there is.
func TestWaitedIsToldOfEveryEnd(t *testing.T) {
	t.Parallel()
	const waiters = 6
	for name, end := range map[string]func(p *Node, conn *Dedicated, cancel context.CancelFunc){
		"served":  func(_ *Node, conn *Dedicated, _ context.CancelFunc) { conn.Return() },
		"gave up": func(_ *Node, _ *Dedicated, cancel context.CancelFunc) { cancel() },
		"closed":  func(p *Node, _ *Dedicated, _ context.CancelFunc) { _ = p.Close() },
		"retired": func(p *Node, _ *Dedicated, _ context.CancelFunc) { p.Retire() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, conn, log := busyPool(t)
			before := p.figures()
			ctx, cancel := context.WithCancel(within(t, 10*time.Second))
			defer cancel()
			var wg sync.WaitGroup
			for i := range waiters {
				wg.Go(func() {
					if i%2 == 0 {
						_ = p.Do(ctx, radix.Cmd(nil, "PING"))
					} else if c, err := p.Dedicate(ctx); err == nil {
						c.Return()
					}
				})
			}
			until(t, "all wait", func() bool { return p.figures().Waiters == waiters })
			n, _ := log.total()
			require.Zero(t, n, "nobody has waited to the end")
			end(p, conn, cancel)
			wg.Wait()
			until(t, "all waits are told", func() bool { n, _ := log.total(); return n >= waiters })
			n, sum := log.total()
			after := p.figures()
			require.Equal(t, waiters, n)
			require.Equal(t, after.WaitTime-before.WaitTime, sum)
		})
	}
}

// TestTraceKnowsThePool: the trace is told by which pool a wait was.
func TestTraceKnowsThePool(t *testing.T) {
	t.Parallel()
	info := &redislanes.PoolInfo{Addr: "a:1"}
	var by *redislanes.PoolInfo
	s := hearing(func(p *redislanes.PoolInfo, _ time.Duration) { by = p })
	s.Kind, s.Traced = KindFixed, info
	p, err := NewFor(s.WithDefaults(true), lanes.Dialer{}, wire.Purpose{}, "127.0.0.1:1", nil)
	require.NoError(t, err)
	p.main.mu.Lock()
	p.main.queue.tell(time.Second)
	p.main.mu.Unlock()
	require.Same(t, info, by)
	require.Same(t, info, p.Info())
	require.Equal(t, DefaultSize, p.main.Max)
	require.NoError(t, p.Close())
}
