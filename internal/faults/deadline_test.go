package faults

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A waitTest is a place where a call may have to wait for ever. Its set-up
// returns the call, which is to be back at its deadline.
type waitTest struct {
	name  string
	setUp func(t *testing.T, s *servers.Cluster, p *redistest.Proxy) func(ctx context.Context) error
}

func count(client *cluster.Client) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		p := pipeline.New(client)
		p.IncrBy("k", 1)
		p.Expire("k", time.Hour)
		return p.Do(ctx)
	}
}

// warm sends something, so that there are connections.
func warm(t *testing.T, client *cluster.Client) {
	t.Helper()
	require.NoError(t, count(client)(servers.Within(t, 10*time.Second)))
}

var waitTests = []waitTest{
	{"queue of an exclusive pool", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{Pool: pool.Fixed{Size: 1}}, []string{p.Addr()})
		warm(t, client)
		occupy(t, client)
		return count(client)
	}},
	{"dedicated connections", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{Pool: pool.Laned{MaxDedicated: 1}}, []string{p.Addr()})
		occupy(t, client)
		return func(ctx context.Context) error {
			return client.Do(ctx, radix.WithConn("k", func(context.Context, radix.Conn) error { return nil }))
		}
	}},
	{"full lane", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{Pool: pool.Laned{Lanes: 1, MaxInFlight: 1}}, []string{p.Addr()})
		warm(t, client)
		p.Stall(redistest.ToClient)
		leave(t, client)
		return count(client)
	}},
	{"dial", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: hangs(p.Addr(), 1)}}, []string{p.Addr()})
		return count(client)
	}},
	{"handshake", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{}, []string{p.Addr()})
		p.Stall(redistest.ToClient)
		return count(client)
	}},
	{"write", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: smallBuffer}}, []string{p.Addr()})
		warm(t, client)
		p.Stall(redistest.ToServer)
		huge := pipeline.New(client)
		huge.Cmd("SET", "k", string(make([]byte, 10<<20))) // more than all buffers on the way hold
		return huge.Do
	}},
	{"reply", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{}, []string{p.Addr()})
		warm(t, client)
		p.Stall(redistest.ToClient)
		return count(client)
	}},
	{"reply over TLS or another connection of the user's", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{Dialer: lanes.Dialer{NetDial: hidden}}, []string{p.Addr()})
		warm(t, client)
		p.Stall(redistest.ToClient)
		return count(client)
	}},
	{"half of a reply", func(t *testing.T, s *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		require.NoError(t, s.Nodes()[0].Do(servers.Within(t, 10*time.Second), nil, "SET", "big", string(make([]byte, 1<<20))))
		client := open(t, cluster.Config{}, []string{p.Addr()})
		warm(t, client)
		p.Throttle(redistest.ToClient, 100_000)
		return func(ctx context.Context) error { return client.Do(ctx, radix.Cmd(nil, "GET", "big")) }
	}},
	{"refresh", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{}, []string{p.Addr()})
		p.Stall(redistest.ToClient)
		return client.Sync
	}},
	{"start", func(_ *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		p.Stall(redistest.ToClient)
		return func(ctx context.Context) error {
			_, err := cluster.Config{}.New(ctx, []string{p.Addr()})
			return err
		}
	}},
	{"backoff", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{RetryWindow: time.Hour}, []string{p.Addr()})
		return func(ctx context.Context) error {
			return client.Do(ctx, radix.Cmd(nil, "EVAL", "return redis.error_reply('LOADING Redis is loading the dataset in memory')", "0"))
		}
	}},
	{"blocking command", func(t *testing.T, _ *servers.Cluster, p *redistest.Proxy) func(context.Context) error {
		client := open(t, cluster.Config{}, []string{p.Addr()})
		return func(ctx context.Context) error { return client.Do(ctx, radix.Cmd(nil, "BLPOP", "list", "0")) }
	}},
}

// TestDeadlineAtEveryWait: a call ends at its deadline, or when it is cancelled, wherever it
// waits: queue, dial, handshake, write, reply, backoff.
func TestDeadlineAtEveryWait(t *testing.T) {
	parallel(t)
	server := servers.StartServer(t, servers.Options{})
	for _, w := range waitTests {
		for _, cancelled := range []bool{false, true} {
			name := w.name + ", deadline"
			if cancelled {
				name = w.name + ", cancelled"
			}
			t.Run(name, func(t *testing.T) {
				parallel(t)
				proxy := redistest.StartProxy(t, server.Addrs()[0])
				call := w.setUp(t, server, proxy)
				const after = 100 * time.Millisecond
				want := context.DeadlineExceeded
				ctx, cancel := context.WithTimeout(context.Background(), after)
				if cancelled {
					want = context.Canceled
					cancel()
					ctx, cancel = context.WithCancel(context.Background())
					defer time.AfterFunc(after, cancel).Stop()
				}
				defer cancel()
				began := time.Now()
				err := call(ctx)
				late := time.Since(began) - after
				t.Logf("back %v after its end: %v", late.Round(10*time.Microsecond), err)
				require.Error(t, err)
				if w.name != "backoff" { // there, the server's words are worth more
					require.ErrorIs(t, err, want)
				}
				require.False(t, errors.Is(err, redislanes.ErrNotSent) && errors.Is(err, redislanes.ErrUnknownOutcome))
				require.Less(t, late, grace())
			})
		}
	}
}

// occupy keeps a connection busy until the test's end. The call before it is back
// before its connection is, so a pool that fails fast may refuse at first.
func occupy(t *testing.T, client *cluster.Client) {
	t.Helper()
	busy, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	hold := radix.WithConn("k", func(context.Context, radix.Conn) error {
		close(busy)
		<-release
		return nil
	})
	go func() {
		err := redislanes.ErrExhausted
		for errors.Is(err, redislanes.ErrExhausted) {
			err = client.Do(context.Background(), hold)
		}
		done <- err
	}()
	select {
	case <-busy:
		t.Cleanup(func() { close(release); require.NoError(t, <-done) })
	case err := <-done:
		require.NoError(t, err, "a connection to hold")
	}
}

// leave lets a call be in flight whose caller has left.
func leave(t *testing.T, client *cluster.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, count(client)(ctx), redislanes.ErrUnknownOutcome)
}

// hangs dials the address n times, and then for ever.
func hangs(addr string, n int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	left := make(chan struct{}, n)
	for range n {
		left <- struct{}{}
	}
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		select {
		case <-left:
			return new(net.Dialer).DialContext(ctx, network, addr)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// smallBuffer dials a connection that takes little that is not read.
func smallBuffer(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(64 << 10)
	}
	return conn, err
}

// hidden is a connection that is not known to be a TCP socket.
func hidden(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return struct{ net.Conn }{conn}, err
}
