package nodepool

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const age = 10 * time.Second

// TestMaxAge: under load, all connections are replaced in time, few at once, and no
// command fails.
func TestMaxAge(t *testing.T) {
	t.Parallel()
	o := Options{MaxAge: age}
	failFast := Options{MaxAge: age, FailFast: true}
	for name, c := range map[string]struct {
		config Config
		size   int
	}{
		"fixed":     {Fixed{Size: 20, Options: o}, 20},
		"one":       {Fixed{Size: 1, Options: o}, 1},
		"adaptive":  {Adaptive{Min: 4, Max: 8, Options: o}, 4},
		"laned":     {Laned{Lanes: 4, Options: o}, 4},
		"laned-1":   {Laned{Lanes: 1, Options: o}, 1},
		"few waits": {Laned{Lanes: 2, MaxInFlight: 1, Options: o}, 2},
		"fails":     {Fixed{Size: 4, Options: failFast}, 4},
		"fails-1":   {Laned{Lanes: 1, Options: failFast}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.config, 50*time.Millisecond)
				time.Sleep(time.Second)
				require.Equal(t, c.size, w.figures().Open)
				stop := make(chan struct{})
				var oldest atomic.Int64
				go func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(20 * time.Millisecond):
							oldest.Store(max(oldest.Load(), int64(w.oldest())))
							s := w.figures()
							assert.GreaterOrEqual(t, s.Open, c.size-1)
						}
					}
				}()
				w.run(time.Minute, 4, always(4), w.command)
				close(stop)
				synctest.Wait()
				s := w.figures()
				require.GreaterOrEqual(t, s.Closes["aged"], uint64(5*c.size))
				require.LessOrEqual(t, s.Closes["aged"], uint64(7*c.size), "each lives for nine tenths of the age at least")
				require.Equal(t, s.Dials-uint64(s.Open), s.Closes["aged"], "nothing else was closed")
				require.Less(t, time.Duration(oldest.Load()), age+2*time.Second)
				require.Zero(t, s.DialErrors)
				consistent(t, w.Node)
			})
		})
	}
}

// oldest returns the age of the oldest connection.
func (w *world) oldest() (oldest time.Duration) {
	w.main.mu.Lock()
	defer w.main.mu.Unlock()
	for _, m := range w.main.members {
		oldest = max(oldest, time.Since(m.born))
	}
	return oldest
}

// TestAgedWhileDedicated: a dedicated connection serves its user, and leaves when it is
// returned.
func TestAgedWhileDedicated(t *testing.T) {
	for name, c := range map[string]Config{
		"fixed": Fixed{Size: 1, Options: Options{MaxAge: age}}, "laned": Laned{Lanes: 1, MaxDedicated: 1, Options: Options{MaxAge: age}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c, time.Millisecond)
				conn, err := w.Dedicate(t.Context())
				require.NoError(t, err)
				time.Sleep(3 * age)
				require.NoError(t, conn.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
				before := w.figures().Closes["aged"]
				conn.Return()
				synctest.Wait()
				require.Equal(t, before+1, w.figures().Closes["aged"])
				conn, err = w.Dedicate(t.Context())
				require.NoError(t, err)
				conn.Return()
				consistent(t, w.Node)
			})
		})
	}
}

// TestAgedStayWhileNoneCanBeHad: a server that takes no new connections keeps its old
// ones, but for the one by which that was found out.
func TestAgedStayWhileNoneCanBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		dialer := simulatedServer(t, time.Millisecond)
		pipe := dialer.NetDial
		dialer.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if full.Load() {
				return nil, errors.New("no room")
			}
			return pipe(ctx, network, addr)
		}
		p := simulated(t, Fixed{Size: 5, Options: Options{MaxAge: age}}, dialer)
		time.Sleep(time.Second)
		full.Store(true)
		for range 100 {
			time.Sleep(age / 10)
			require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		}
		require.Equal(t, 4, p.figures().Open)
		require.EqualValues(t, 1, p.figures().Closes["aged"])
		full.Store(false)
		time.Sleep(age)
		require.Equal(t, 5, p.figures().Open)
		require.GreaterOrEqual(t, p.figures().Closes["aged"], uint64(5))
		consistent(t, p)
	})
}
