package nodepool

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

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

var impatient = Options{StallTimeout: 100 * time.Millisecond}

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
