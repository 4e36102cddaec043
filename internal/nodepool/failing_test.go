package nodepool

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
			until(t, "all connections are closed", func() bool { return p.figures().Open == 0 })
			until(t, "the cause is told", func() bool { // the first dials may be cut off in their handshake
				err := p.Do(ctx, radix.Cmd(nil, "PING"))
				require.ErrorIs(t, err, redislanes.ErrNotSent)
				require.ErrorContains(t, err, p.Address())
				return strings.Contains(err.Error(), "connection refused")
			})

			require.NoError(t, server.Nodes()[0].Restart(ctx))
			until(t, "it is connected again", func() bool { return p.Do(ctx, radix.Cmd(nil, "PING")) == nil })
			s := p.figures()
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

// TestStalledServerIsGivenUp: without a deadline, too, a call ends.
func TestStalledServerIsGivenUp(t *testing.T) {
	o := Options{StallTimeout: 100 * time.Millisecond}
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
			until(t, "it is counted, which callers do not wait for", func() bool { return p.figures().Closes["stalled"] > 0 })
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
	until(t, "the pool has noticed", func() bool { return p.figures().Closes["server"] == 1 })
	require.Error(t, lane.Err())
	until(t, "it has another one", func() bool { return p.figures().Open == 1 })
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
				own, err := p.Dedicate(context.Background())
				require.NoError(t, err)
				require.NoError(t, p.Close())
				wg.Wait()
				require.ErrorIs(t, own.Do(context.Background(), radix.Cmd(nil, "PING")), redislanes.ErrClosed)
				own.Return()
				require.ErrorIs(t, dedicateError(context.Background(), p), redislanes.ErrClosed)
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

var impatient = Options{StallTimeout: 100 * time.Millisecond, PingEvery: 50 * time.Millisecond}

var impatientKinds = map[string]Config{
	"fixed":    Fixed{Size: 3, Options: impatient},
	"adaptive": Adaptive{Min: 2, Max: 3, Options: impatient},
	"laned":    Laned{Lanes: 3, Options: impatient},
}

// TestDeadServerFailsAtOnce: once a stalled server was noticed, calls do not
// wait for it. Nobody's command is the probe, so none has an unknown outcome,
// and one dial at a time asks whether the server is back.
func TestDeadServerFailsAtOnce(t *testing.T) {
	for name, kind := range impatientKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servers.StartServer(t, servers.Options{})
			p := open(t, kind, server)
			require.NoError(t, p.Do(within(t, 5*time.Second), radix.Cmd(nil, "PING")))
			until(t, "no dial of the beginning is left", func() bool { s := p.figures(); return s.Open >= 2 && s.Dialing == 0 })
			node := server.Nodes()[0]
			require.NoError(t, node.Pause())
			defer func() { _ = node.Resume() }()
			stopped := time.Now()
			require.ErrorIs(t, p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")), redislanes.ErrUnknownOutcome)
			until(t, "the server counts as down", func() bool { return p.figures().Down })
			for range 1000 {
				err := p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")) // no deadline: it must not wait
				require.ErrorIs(t, err, redislanes.ErrDown)
				require.ErrorIs(t, err, redislanes.ErrNotSent)
				require.ErrorIs(t, err, cause.ErrStalled)
				require.NotErrorIs(t, err, redislanes.ErrUnknownOutcome)
				var down *cause.Down
				require.ErrorAs(t, err, &down)
				require.Equal(t, p.Address(), down.Addr)
				require.WithinRange(t, down.Since, stopped.Add(-time.Second), time.Now())
				require.LessOrEqual(t, p.figures().Dialing, 1)
			}
			require.NoError(t, node.Resume())
			until(t, "it works again", func() bool { return p.Do(context.Background(), radix.Cmd(nil, "PING")) == nil })
			require.False(t, p.figures().Down)
			require.EqualValues(t, 1, p.figures().Downs)
		})
	}
}

// TestDownErrorKeepsItsText: its time is that of the error, not of the look at it.
func TestDownErrorKeepsItsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{server: &server{addr: "h:1"}, health: health.New(health.Limits{})}
		p.health.Failed(time.Now(), health.Failure{Err: errNoAnswer}, 0, 0)
		time.Sleep(time.Second)
		err := p.downErrorLocked()
		require.EqualError(t, err, "server down for 1.0 s: no answer within the stall timeout")
		text := err.Error()
		time.Sleep(time.Minute)
		require.EqualError(t, err, text)
	})
}

// TestDownTellsWhyItCannotBeDialled: connections break one by one while the server
// refuses the password of new ones. That is the cause, which does not get better,
// and not the end of the last connection.
func TestDownTellsWhyItCannotBeDialled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := simulatedServer(t, time.Millisecond)
		d.Password = "old"
		var refuses atomic.Bool
		dial := d.NetDial
		d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !refuses.Load() {
				return dial(ctx, network, addr)
			}
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				_, _ = readCommand(bufio.NewReader(server))
				_, _ = io.WriteString(server, "-WRONGPASS no\r\n")
			}()
			return client, nil
		}
		p := simulated(t, Fixed{Size: 2, Options: patient}, d)
		time.Sleep(time.Second)
		p.main.mu.Lock()
		members := append([]*member(nil), p.main.members...)
		p.main.mu.Unlock()
		require.Len(t, members, 2)
		refuses.Store(true)
		for _, m := range members {
			m.lane.Fail(io.EOF)
			synctest.Wait()
		}
		var refused *redislanes.HandshakeError
		require.ErrorAs(t, p.Do(t.Context(), radix.Cmd(nil, "PING")), &refused)
		require.Equal(t, "AUTH", refused.Command)
		require.EqualValues(t, 1, p.figures().DialErrors)
	})
}

// TestCloseIsNoOutage: the dials that Close cancels say nothing of the server.
func TestCloseIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Fixed{Size: 1}, lanes.Dialer{NetDial: silentDial}, "pipe:1", nil)
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, p.Close())
		require.False(t, p.figures().Down)
		require.Zero(t, p.figures().Downs)
	})
}
