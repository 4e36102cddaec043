package pool_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// TestCustomRefuses: what cannot be used is an error of the function that Custom
// returns, and names the field.
func TestCustomRefuses(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]pool.Config{"the Config is nil": nil, "Fixed.Size = -1": pool.Fixed{Size: -1}} {
		client, err := pool.Custom(c, lanes.Dialer{})(t.Context(), "tcp", "127.0.0.1:1")
		require.ErrorContains(t, err, want)
		require.Nil(t, client)
	}
}

// TestCustomOfFullServer: a server that can write no file refuses PING, and serves reads.
func TestCustomOfFullServer(t *testing.T) {
	t.Parallel()
	server := redistest.StartEmulated(t, 1)
	var text atomic.Pointer[string]
	server.Inject(0, func(cmd string, _ []string) string {
		if cmd == "PING" {
			return *text.Load()
		}
		return ""
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for said, serves := range map[string]bool{
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.": true,
		"LOADING Redis is loading the dataset in memory":                                                   false,
	} {
		text.Store(&said)
		p, err := pool.Custom(pool.Fixed{Size: 1}, lanes.Dialer{NoSetInfo: true})(ctx, "tcp", server.Addrs()[0])
		require.Equal(t, serves, err == nil, "%s: %v", said, err)
		if serves {
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "GET", "k")))
			require.NoError(t, p.Close())
		}
	}
}

// TestCustomNetworks: a path is that of a unix socket, also a relative one.
func TestCustomNetworks(t *testing.T) {
	t.Parallel()
	server := redistest.StartEmulated(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	relative, err := filepath.Abs("redis.sock")
	require.NoError(t, err)
	for _, c := range []struct{ network, addr, dialled string }{
		{"tcp", "127.0.0.1:1", "tcp 127.0.0.1:1"},
		{"", "127.0.0.1:1", "tcp 127.0.0.1:1"},
		{"tcp", "/run/redis.sock", "unix /run/redis.sock"},
		{"unix", "/run/redis.sock", "unix /run/redis.sock"},
		{"unix", "redis.sock", "unix " + relative},
		{"unix", "./redis.sock", "unix " + relative},
	} {
		dialled := make(chan string, 100)
		dialer := lanes.Dialer{NetDial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled <- network + " " + addr
			return new(net.Dialer).DialContext(ctx, "tcp", server.Addrs()[0])
		}}
		p, err := pool.Custom(pool.Fixed{Size: 1}, dialer)(ctx, c.network, c.addr)
		require.NoError(t, err)
		require.Equal(t, c.dialled, <-dialled)
		require.Equal(t, c.dialled, p.Addr().Network()+" "+p.Addr().String())
		require.NoError(t, p.Close())
	}
	_, err = pool.Custom(pool.Fixed{}, lanes.Dialer{})(ctx, "udp", "127.0.0.1:1")
	require.EqualError(t, err, `pool: the network is "udp": want tcp or unix; for another one set Dialer.NetDial and pass tcp`)
	_, err = pool.Custom(pool.Fixed{}, lanes.Dialer{})(ctx, "unix", "redis://:canary@h:1")
	require.ErrorContains(t, err, "Dialer.Password")
	require.NotContains(t, err.Error(), "canary")
}

// TestCustom: the face does what the pool behind it does.
func TestCustom(t *testing.T) {
	t.Parallel()
	server, err := redistest.LaunchEmulated(1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	client, err := pool.Custom(pool.Fixed{}, lanes.Dialer{})(ctx, "tcp", server.Addrs()[0])
	require.NoError(t, err)
	p := client.(*pool.Pool)
	var n int
	require.NoError(t, p.Do(ctx, radix.Cmd(&n, "INCR", "hits")))
	require.Equal(t, 1, n)
	require.Equal(t, server.Addrs()[0], p.Addr().String())
	require.Equal(t, "pool.Pool{fixed, "+server.Addrs()[0]+"}", fmt.Sprint(p))
	require.Equal(t, 50, p.Stats().Size, "as for a node of a cluster")
	blocked := make(chan error, 1)
	go func() { blocked <- p.Do(ctx, radix.Cmd(nil, "BLPOP", "none", "0")) }()
	require.Eventually(t, func() bool { return p.Stats().InUse == 1 }, 10*time.Second, time.Millisecond)
	require.NoError(t, p.Close())
	require.ErrorIs(t, <-blocked, redislanes.ErrClosed)
	err = p.Do(ctx, radix.Cmd(&n, "INCR", "hits"))
	require.ErrorIs(t, err, redislanes.ErrClosed)
	require.ErrorIs(t, err, redislanes.ErrNotSent)
}
