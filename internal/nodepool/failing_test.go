package nodepool

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestServerComesBack kills the server and starts it again.
func TestServerComesBack(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servers.StartServer(t, servers.Options{})
			p := open(t, kind, server)
			ctx := within(t, 20*time.Second)
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
			require.NoError(t, server.Nodes()[0].Kill())
			until(t, "all connections are closed", func() bool { return p.Stats().Open == 0 })
			until(t, "the cause is told", func() bool { // the first dials may be cut off in their handshake
				err := p.Do(ctx, radix.Cmd(nil, "PING"))
				require.ErrorIs(t, err, redislanes.ErrNotSent)
				require.ErrorContains(t, err, p.Address())
				return strings.Contains(err.Error(), "connection refused")
			})

			require.NoError(t, server.Nodes()[0].Restart(ctx))
			until(t, "it is connected again", func() bool { return p.Do(ctx, radix.Cmd(nil, "PING")) == nil })
			s := p.Stats()
			require.Positive(t, s.DialErrors)
		})
	}
}

// hangsUp returns the address of a server that hangs up on everybody.
func hangsUp(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// TestDialsAreSpaced counts the dials to a server that refuses everybody.
func TestDialsAreSpaced(t *testing.T) {
	t.Parallel()
	addr := hangsUp(t)
	p, err := New(Fixed{Size: 20, Options: Options{MinBackoff: time.Hour, MaxBackoff: time.Hour}}, lanes.Dialer{}, addr, nil)
	require.NoError(t, err)
	defer p.Close()
	for range 50 {
		require.ErrorIs(t, p.Do(within(t, 5*time.Second), radix.Cmd(nil, "PING")), redislanes.ErrNotSent)
	}
	until(t, "all dials have failed", func() bool { return p.Stats().Dialing == 0 })
	require.LessOrEqual(t, p.Stats().Dials, uint64(health.MaxDials))
}

// TestStalledServerIsGivenUp: without a deadline, too, a call ends.
func TestStalledServerIsGivenUp(t *testing.T) {
	o := Options{StallTimeout: 100 * time.Millisecond, PauseTimeout: time.Minute}
	for name, kind := range map[string]Config{"fixed": Fixed{Size: 2, Options: o}, "laned": Laned{Lanes: 2, Options: o}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servers.StartServer(t, servers.Options{})
			p := open(t, kind, server)
			require.NoError(t, p.Do(context.Background(), radix.Cmd(nil, "PING")))
			node := server.Nodes()[0]
			require.NoError(t, node.Pause())
			defer func() { _ = node.Resume() }()
			err := p.Do(within(t, 20*time.Second), radix.Cmd(nil, "INCR", "k"))
			require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
			require.ErrorIs(t, err, cause.ErrStalled)
			until(t, "it is counted, which callers do not wait for", func() bool { return p.Stats().Closes[redislanes.CloseStalled] > 0 })
			require.NoError(t, node.Resume())
			until(t, "it works again", func() bool {
				return p.Do(within(t, time.Second), radix.Cmd(nil, "PING")) == nil
			})
		})
	}
}

// TestServerHangsUpOnIdleConnections: a connection that the server closed is
// replaced before somebody's command is lost on it.
func TestServerHangsUpOnIdleConnections(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Laned{Lanes: 1}, server)
	ctx := within(t, 20*time.Second)
	for range 50 { // the background reader has gone to sleep
		require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
	}
	lane := p.main.members[0].lane
	p.main.inspect(time.Now().Add(time.Hour))
	p.main.inspect(time.Now().Add(2 * time.Hour))
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
	until(t, "the pool has noticed", func() bool { return p.Stats().Closes[redislanes.CloseByServer] == 1 })
	require.Error(t, lane.Err())
	until(t, "it has another one", func() bool { return p.Stats().Open == 1 })
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
}

// TestCloseDuringTraffic: everybody gets a reply or an error, and nobody hangs.
func TestCloseDuringTraffic(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				p, err := New(kind, lanes.Dialer{}, server.Addrs()[0], nil)
				require.NoError(t, err)
				var wg sync.WaitGroup
				started := make(chan struct{}, 20)
				for range 20 {
					wg.Go(func() {
						for err := error(nil); err == nil; {
							err = p.Do(context.Background(), radix.Cmd(nil, "INCR", "k"))
							select {
							case started <- struct{}{}:
							default:
							}
							if err != nil && !errors.Is(err, redislanes.ErrClosed) {
								t.Errorf("error without ErrClosed: %v", err)
							}
						}
					})
				}
				<-started
				lent, err := p.Dedicate(context.Background())
				require.NoError(t, err)
				require.NoError(t, p.Close())
				wg.Wait()
				require.ErrorIs(t, lent.Do(context.Background(), radix.Cmd(nil, "PING")), redislanes.ErrClosed)
				lent.Return()
				require.ErrorIs(t, lendError(context.Background(), p), redislanes.ErrClosed)
				require.NoError(t, p.Close())
			}
		})
	}
}

// TestLeavingWhileTheServerFails lets callers reach their deadlines at the same
// time as the pool ends those who wait, because dials fail. Each call must end
// once, and the race detector must be content.
func TestLeavingWhileTheServerFails(t *testing.T) {
	t.Parallel()
	addr := hangsUp(t)
	for name, options := range map[string]Config{
		"fixed": Fixed{Size: 2, Options: Options{MinBackoff: time.Microsecond, MaxBackoff: time.Millisecond}},
		"laned": Laned{Lanes: 2, Options: Options{MinBackoff: time.Microsecond, MaxBackoff: time.Millisecond}},
	} {
		p, err := New(options, lanes.Dialer{}, addr, nil)
		require.NoError(t, err, name)
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				for range 100 {
					ctx, cancel := context.WithTimeout(t.Context(), 500*time.Microsecond)
					err := p.Do(ctx, radix.Cmd(nil, "PING"))
					cancel()
					if !errors.Is(err, redislanes.ErrNotSent) {
						t.Errorf("got %v, want ErrNotSent", err)
						return
					}
				}
			})
		}
		callers.Wait()
		require.NoError(t, p.Close())
	}
}
