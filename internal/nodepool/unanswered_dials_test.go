package nodepool

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/cause"
)

// TestUnansweredDialIsSilence: where no connection is left, and a dial gets no
// answer, callers do not wait for the dial's end either.
func TestUnansweredDialIsSilence(t *testing.T) {
	for name, c := range map[string]struct {
		known bool // the server was reached before
		limit time.Duration
	}{"known": {true, 1300 * ms}, "never reached": {false, 1300 * ms}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := new(holder)
				p := h.pool(t, Laned{})
				transaction := func() error {
					ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
					defer cancel()
					return p.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
						return conn.Do(ctx, radix.Cmd(nil, "INCR", "k"))
					}))
				}
				if c.known {
					require.NoError(t, transaction())
				}
				h.hold(everything)
				frozen := time.Now()
				for time.Since(frozen) < c.limit {
					require.Error(t, transaction())
					time.Sleep(ms)
				}
				for range 100 {
					began := time.Now()
					err := transaction()
					require.ErrorIs(t, err, cause.ErrSuspect)
					require.Equal(t, began, time.Now())
					var down *cause.Down
					require.ErrorAs(t, err, &down)
					require.WithinDuration(t, frozen, down.Since, 220*ms)
				}
				time.Sleep(10 * time.Second) // the dial has failed
				var down *cause.Down
				require.ErrorAs(t, transaction(), &down)
				if c.known { // otherwise the pool's own dials have failed
					require.WithinDuration(t, frozen, down.Since, 200*ms, "the trouble is the same")
				}
				h.hold(nothing)
				time.Sleep(10 * time.Second)
				require.NoError(t, transaction())
			})
		})
	}
}

// TestUnansweredDialBesideDedicatedConnections: those who wait for a dial that is not
// answered learn so as soon as if there were no dedicated ones, unless one of those shows life.
func TestUnansweredDialBesideDedicatedConnections(t *testing.T) {
	for name, kind := range map[string]Config{"fixed": Fixed{Size: 2}, "adaptive": Adaptive{Max: 2}, "laned": Laned{Lanes: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := new(holder)
				p := h.pool(t, kind)
				conn, err := p.Dedicate(t.Context())
				require.NoError(t, err)
				time.Sleep(time.Second)
				if name == "fixed" { // its second connection is there
					second, err := p.Dedicate(t.Context())
					require.NoError(t, err)
					h.lose(true)
					require.NoError(t, second.Close())
					second.Return()
				}
				h.lose(true)
				began := time.Now()
				_, err = p.Dedicate(t.Context())
				require.ErrorIs(t, err, cause.ErrSuspect)
				require.Less(t, time.Since(began), 1100*ms)
				h.lose(false)
				time.Sleep(5 * time.Second)
				again, err := p.Dedicate(t.Context())
				require.NoError(t, err, "the server answers again")
				again.Return()
				conn.Return()
			})
		})
	}
}

// TestFailedDialIsForgotten: a dial that failed while it was wanted is not why a connection
// ends minutes later, when nobody has wanted another one since.
func TestFailedDialIsForgotten(t *testing.T) {
	t.Parallel()
	t.Run("unanswered", func(t *testing.T) {
		failedDial(t, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
	})
	t.Run("refused", func(t *testing.T) {
		failedDial(t, func(context.Context) error { return syscall.ECONNREFUSED })
	})
}

func failedDial(t *testing.T, fails func(context.Context) error) {
	synctest.Test(t, func(t *testing.T) {
		d, resume := pausedServer(t)
		defer resume()
		var failing atomic.Bool
		ends := noted(&d)
		dial := d.NetDial
		d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if failing.Load() {
				return nil, fails(ctx)
			}
			return dial(ctx, network, addr)
		}
		d.Timeout = time.Second
		p := simulated(t, Adaptive{Min: 1, Max: 2, IdleTimeout: time.Second}, d)
		require.NoError(t, p.Alone(t.Context(), func(radix.Conn) error {
			failing.Store(true)
			_, err := incr(p, 5*time.Second)
			require.Error(t, err, "wants a second connection")
			return nil
		}))
		time.Sleep(time.Minute)
		require.NotZero(t, p.Stats().DialErrors)
		failing.Store(false)
		time.Sleep(5 * time.Second) // a question may be out for as long as StallTimeout
		require.NoError(t, p.Down(), "it has answered a question, or never been silent")
		ends()
		synctest.Wait()
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")), "is dialled again")
	})
}
