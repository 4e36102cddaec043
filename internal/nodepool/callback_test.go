package nodepool

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// rude returns a function that panics while it is told to.
func rude() (maybe func(), on *atomic.Bool) {
	on = new(atomic.Bool)
	return func() {
		if on.Load() {
			panic("boom")
		}
	}, on
}

// crowd lets so many callers make a request at a time, and returns the first error
// of each.
func crowd(t *testing.T, p *Node, n int) (errs []error) {
	errs = make([]error, n)
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() { errs[i] = p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")) })
	}
	callers.Wait()
	return errs
}

// TestStrategyMayAskThePool: a strategy that looks at the statistics hangs nobody.
func TestStrategyMayAskThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pool atomic.Pointer[Node]
		var asked atomic.Bool
		p, err := New(Laned{Lanes: 2, MaxInFlight: 1, Strategy: func(s *lanes.Set, key int64) int {
			if p := pool.Load(); p != nil {
				_ = p.figures()
				asked.Store(true)
			}
			return lanes.LeastUsed(s, key)
		}}, simulatedServer(t, time.Millisecond), "simulated:1", nil)
		require.NoError(t, err)
		defer p.Close()
		time.Sleep(10 * time.Millisecond)
		pool.Store(p)
		for _, err := range crowd(t, p, 50) {
			require.NoError(t, err)
		}
		require.True(t, asked.Load())
	})
}

// TestPanickingStrategy: a batch fails if the strategy panics for it, with an error that names the
// strategy. Other batches do not fail. Batches that wait never reach the strategy.
func TestPanickingStrategy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		maybe, on := rude()
		log := new(logged)
		p, err := New(Laned{Lanes: 2, MaxInFlight: 1, Strategy: func(s *lanes.Set, key int64) int {
			maybe()
			return lanes.LeastUsed(s, key)
		}}, simulatedServer(t, time.Millisecond), "simulated:1", slog.New(log))
		require.NoError(t, err)
		defer p.Close()
		time.Sleep(10 * time.Millisecond)
		results := make(chan []error)
		go func() { results <- crowd(t, p, 20) }()
		synctest.Wait()
		require.Equal(t, 18, p.figures().Waiters)
		on.Store(true)
		for _, err := range <-results {
			require.NoError(t, err)
		}
		err = crowd(t, p, 1)[0]
		require.ErrorIs(t, err, redislanes.ErrNotSent)
		require.ErrorContains(t, err, "Laned.Strategy panicked: boom")
		synctest.Wait()
		require.True(t, log.has("callback panicked"))
		on.Store(false)
		for _, err := range crowd(t, p, 50) {
			require.NoError(t, err)
		}
		consistent(t, p)
	})
}

// TestPanickingCallbacks: what panics on the pool's own goroutines fails a dial or
// nothing at all, and the pool works on.
func TestPanickingCallbacks(t *testing.T) {
	maybe, on := rude()
	for name, c := range map[string]struct {
		set   func(*lanes.Dialer, *Options) slog.Handler
		fails bool // the dial
	}{
		"Dialer.Credentials": {func(d *lanes.Dialer, _ *Options) slog.Handler {
			d.Credentials = func(context.Context) (string, string, error) { maybe(); return "", "", nil }
			return nil
		}, true},
		"Dialer.NetDial": {func(d *lanes.Dialer, _ *Options) slog.Handler {
			dial := d.NetDial
			d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				maybe()
				return dial(ctx, network, addr)
			}
			return nil
		}, true},
		"Trace.Waited": {func(_ *lanes.Dialer, o *Options) slog.Handler {
			*o = hearing(func(*redislanes.PoolInfo, time.Duration) { maybe() })
			return nil
		}, false},
		"Logger": {func(*lanes.Dialer, *Options) slog.Handler { return rudeLog{maybe} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dialer, log := simulatedServer(t, time.Millisecond), new(logged)
				var o Options
				var handler slog.Handler = log
				if h := c.set(&dialer, &o); h != nil {
					handler = h
				}
				on.Store(true)
				p, err := New(Fixed{Size: 2, Options: o}, dialer, "simulated:1", slog.New(handler))
				require.NoError(t, err)
				defer p.Close()
				for _, err := range crowd(t, p, 10) { // some wait
					if c.fails {
						assert.ErrorIs(t, err, redislanes.ErrNotSent)
						assert.ErrorContains(t, err, name+" panicked: boom")
					} else {
						assert.NoError(t, err)
					}
				}
				synctest.Wait()
				if name != "Logger" {
					assert.True(t, log.has("callback panicked"))
				}
				p.main.mu.Lock() // a connection is closed, which is logged
				for _, m := range p.main.members {
					p.main.leaveLocked(m, errIdle, true)
				}
				p.main.mu.Unlock()
				time.Sleep(time.Second)
				on.Store(false)
				time.Sleep(2 * time.Second)
				for _, err := range crowd(t, p, 10) {
					assert.NoError(t, err)
				}
				consistent(t, p)
			})
		})
	}
}

// TestPanickingAction: an action that panics on a connection of its own, or while
// it is encoded, panics in its caller's hands, and the pool has the connection back. A receiver
// that panics costs its call alone: the command has run.
func TestPanickingAction(t *testing.T) {
	for name, kind := range map[string]Config{"fixed": Fixed{Size: 1}, "laned": Laned{Lanes: 1, MaxDedicated: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, kind, time.Millisecond)
				for i, action := range []radix.Action{
					radix.WithConn("k", func(context.Context, radix.Conn) error { panic("boom") }),
					radix.WithConn("k", func(ctx context.Context, c radix.Conn) error {
						_ = c.Do(ctx, radix.Cmd(nil, "MULTI"))
						panic("boom")
					}),
					rudeAction{},
					radix.Cmd(rudeText{}, "GET", "k"),
				} {
					if i < 3 {
						require.PanicsWithValue(t, "boom", func() { _ = w.Do(t.Context(), action) })
					} else {
						require.ErrorIs(t, w.Do(t.Context(), action), redislanes.ErrDecode)
					}
					require.NoError(t, w.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
					conn, err := w.Dedicate(t.Context())
					require.NoError(t, err)
					conn.Return()
				}
				require.Zero(t, w.figures().Dedicated)
				consistent(t, w.Node)
			})
		})
	}
}

type rudeText struct{}

func (rudeText) UnmarshalText([]byte) error { panic("boom") }

// A rudeAction shares its connection, and panics when it is encoded.
type rudeAction struct{}

func (rudeAction) Properties() radix.ActionProperties {
	return radix.ActionProperties{CanShareConn: true}
}

func (rudeAction) Perform(ctx context.Context, conn radix.Conn) error {
	return conn.EncodeDecode(ctx, rudeAction{}, nil)
}

func (rudeAction) MarshalRESP(io.Writer, *radixresp.Opts) error { panic("boom") }

// A rudeLog is a slog.Handler that may panic.
type rudeLog struct{ maybe func() }

func (h rudeLog) Enabled(context.Context, slog.Level) bool  { return true }
func (h rudeLog) Handle(context.Context, slog.Record) error { h.maybe(); return nil }
func (h rudeLog) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h rudeLog) WithGroup(string) slog.Handler             { return h }

// logged keeps the messages, and asks a pool for its statistics at each.
type logged struct {
	pool     atomic.Pointer[Node]
	mu       sync.Mutex
	messages map[string]int
}

func (l *logged) has(message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.messages[message] > 0
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	if p := l.pool.Load(); p != nil {
		_ = p.figures()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.messages == nil {
		l.messages = make(map[string]int)
	}
	l.messages[r.Message]++
	return nil
}

// TestLoggerMayAskThePool: no message is logged with the pool's lock held.
func TestLoggerMayAskThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &brief{after: time.Millisecond}
		log := new(logged)
		p, err := New(Adaptive{Min: 1, Max: 9, IdleTimeout: time.Second}, lanes.Dialer{NetDial: server.dial}, "brief:1", slog.New(log))
		require.NoError(t, err)
		log.pool.Store(p)
		time.Sleep(time.Second)
		server.well.Store(true)
		time.Sleep(4 * time.Second)
		for _, err := range crowd(t, p, 20) {
			assert.NoError(t, err)
		}
		time.Sleep(4 * time.Second)
		require.NoError(t, p.Close())
		server.tasks.Wait()
		for _, message := range []string{"dial failed", "connection closed", "pool resized"} {
			require.True(t, log.has(message), message)
		}
	})
}

// TestSlowWaitedHoldsNobodyUp: the batch that waited is written before Trace.Waited is
// called, in each way to free the connection.
func TestSlowWaitedHoldsNobodyUp(t *testing.T) {
	for name, free := range map[string]func(*Dedicated){
		"by a return": func(conn *Dedicated) { conn.Return() },
		"by a dial":   func(conn *Dedicated) { _ = conn.Close(); conn.Return() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Fixed{Size: 1, Options: hearing(func(*redislanes.PoolInfo, time.Duration) { time.Sleep(time.Second) })}, time.Millisecond)
				conn, err := w.Dedicate(t.Context())
				require.NoError(t, err)
				time.Sleep(2 * time.Second) // it was told of the first dial
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				var wg sync.WaitGroup
				wg.Go(func() { assert.NoError(t, w.Do(ctx, radix.Cmd(nil, "INCR", "k"))) })
				synctest.Wait()
				go free(conn)
				wg.Wait()
				time.Sleep(10 * time.Second)
			})
		})
	}
}
