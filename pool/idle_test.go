package pool_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// A quitter is a server that closes a connection after an INCR, when the client has read the reply.
type quitter struct {
	ran     atomic.Int64
	arrived chan struct{} // the test sends here when it has the reply
	ended   chan struct{} // the server sends here when the connection is closed
}

func (q *quitter) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		switch {
		case err != nil:
			_ = conn.Close()
			return
		case strings.HasPrefix(line, "*"): // each command begins with one, and no argument does
			_, _ = in.ReadString('\n')
			line, _ = in.ReadString('\n')
			if strings.TrimSpace(line) != "INCR" {
				_, _ = io.WriteString(conn, "+OK\r\n")
				continue
			}
			q.ran.Add(1)
			_, _ = io.WriteString(conn, ":1\r\n")
			<-q.arrived
			_ = conn.Close()
			q.ended <- struct{}{}
			return
		}
	}
}

// quit has the server close the connection of the last INCR, and returns when that is closed.
func (q *quitter) quit() {
	q.arrived <- struct{}{}
	<-q.ended
}

func (q *quitter) listen(t *testing.T) (addr string) {
	q.arrived, q.ended = make(chan struct{}), make(chan struct{}, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var tasks sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); close(q.arrived); tasks.Wait() })
	tasks.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() { q.serve(conn) })
		}
	})
	return listener.Addr().String()
}

// TestClosedWhileIdle: a server closes connections that are idle. Commands that come later
// are not sent over them, and none has an unknown outcome.
func TestClosedWhileIdle(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]pool.Config{
		"fixed":              pool.Fixed{Size: 1},
		"adaptive":           pool.Adaptive{Min: 1, Max: 2},
		"laned":              pool.Laned{Lanes: 1},
		"laned, with others": pool.Laned{Lanes: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("connections are not asked there")
			}
			q := new(quitter)
			client, err := pool.Custom(config, lanes.Dialer{})(t.Context(), "tcp", q.listen(t))
			require.NoError(t, err)
			defer client.Close()
			ctx := servers.Within(t, 20*time.Second)
			const calls = 8 // beyond that, dials are spaced
			for i := range calls {
				for range 20 { // until callers read their own replies
					require.NoError(t, client.Do(ctx, radix.Cmd(nil, "GET", "k")))
				}
				require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", "k")), "call %d", i)
				q.quit()
				<-time.After(10 * ms) // idle for longer than a busy connection
			}
			require.EqualValues(t, calls, q.ran.Load())
		})
	}
}

// TestDedicatedClosedWhileIdle is TestClosedWhileIdle for dedicated connections.
func TestDedicatedClosedWhileIdle(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("connections are not asked there")
	}
	for name, config := range map[string]pool.Config{"fixed": pool.Fixed{Size: 1}, "laned": pool.Laned{Lanes: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := new(quitter)
			client, err := pool.Custom(config, lanes.Dialer{})(t.Context(), "tcp", q.listen(t))
			require.NoError(t, err)
			defer client.Close()
			ctx := servers.Within(t, 20*time.Second)
			for i := range 8 { // beyond that, dials are spaced
				require.NoError(t, client.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
					for range 20 { // until the caller reads its own replies
						require.NoError(t, conn.Do(ctx, radix.Cmd(nil, "GET", "k")), "call %d", i)
					}
					return conn.Do(ctx, radix.Cmd(nil, "INCR", "k"))
				})), "call %d", i)
				q.quit()
				<-time.After(10 * ms) // idle for longer than a busy connection
			}
			require.EqualValues(t, 8, q.ran.Load())
		})
	}
}

// TestDedicatedClosedWhileWaitedFor: the server hangs up while the user of a connection thinks, and another user
// waits for it.
func TestDedicatedClosedWhileWaitedFor(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("connections are not asked there")
	}
	for name, config := range map[string]pool.Config{"fixed": pool.Fixed{Size: 1}, "laned": pool.Laned{Lanes: 1, MaxDedicated: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := new(quitter)
			client, err := pool.Custom(config, lanes.Dialer{})(t.Context(), "tcp", q.listen(t))
			require.NoError(t, err)
			defer client.Close()
			ctx := servers.Within(t, 20*time.Second)
			waited := make(chan error, 1)
			require.NoError(t, client.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				for range 20 { // until the caller reads its own replies
					require.NoError(t, conn.Do(ctx, radix.Cmd(nil, "GET", "k")))
				}
				go func() {
					waited <- client.Do(ctx, radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
						return conn.Do(ctx, radix.Cmd(nil, "GET", "k"))
					}))
				}()
				for client.(*pool.Pool).Stats().Waiters == 0 {
					runtime.Gosched()
				}
				require.NoError(t, conn.Do(ctx, radix.Cmd(nil, "INCR", "k")))
				q.quit()
				<-time.After(10 * ms) // idle for longer than a busy connection
				return nil
			})))
			require.NoError(t, <-waited)
		})
	}
}

// TestTicketsAreNoEnd: the session tickets of TLS 1.3, which are unread on an idle
// connection, say nothing against it.
func TestTicketsAreNoEnd(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{TLS: true})
	client, err := pool.Custom(pool.Fixed{Size: 1}, lanes.Dialer{TLS: server.TLSConfig()})(t.Context(), "tcp", server.Addrs()[0])
	require.NoError(t, err)
	defer client.Close()
	for range 20 {
		require.NoError(t, client.Do(context.Background(), radix.Cmd(nil, "INCR", "k")))
		<-time.After(10 * ms)
	}
	s := client.(*pool.Pool).Stats()
	require.EqualValues(t, 1, s.Dials)
	require.Empty(t, s.Closes)
}
