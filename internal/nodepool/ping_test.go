package nodepool

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// TestPingsTakeNoConnection: while PINGs are out on all connections, callers and
// users get one all the same, whether they may wait or not, and the PINGs do not
// count as use.
func TestPingsTakeNoConnection(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	const size = 3
	p, err := New(Fixed{Size: size, Options: Options{FailFast: true, StallTimeout: time.Hour, PingEvery: time.Hour}},
		lanes.Dialer{}, proxy.Addr(), nil)
	require.NoError(t, err)
	defer p.Close()
	until(t, "all connections are there", func() bool { return p.Stats().Idle == size })
	proxy.Stall(redistest.ToClient)
	p.inspect(time.Now().Add(p.PingEvery))
	require.Equal(t, size, p.Stats().InFlight, "each connection is pinged")
	require.Zero(t, p.Stats().InUse)

	ctx := within(t, 20*time.Second)
	conn, err := p.Lend(ctx)
	require.NoError(t, err)
	done := make(chan error, size)
	for range size - 1 {
		go func() { done <- p.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
	}
	go func() { done <- conn.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
	until(t, "each has a connection", func() bool { s := p.Stats(); return s.InUse == size && s.InFlight == 2*size })
	require.ErrorIs(t, p.Do(ctx, radix.Cmd(nil, "INCR", "k")), redislanes.ErrExhausted, "there is one caller to a connection")
	proxy.Flow(redistest.ToClient)
	for range size {
		require.NoError(t, <-done)
	}
	conn.Return()
	until(t, "all are free", func() bool { return p.Stats().Idle == size })
	require.Equal(t, "3", get(t, p, "k"))
}

// A deafened connection takes all bytes, and sends none of them once it is deaf.
type deafened struct {
	net.Conn
	deaf atomic.Bool
	last *atomic.Pointer[deafened] // of all, the one that sent something last
}

func (c *deafened) Write(b []byte) (int, error) {
	if c.deaf.Load() {
		return len(b), nil
	}
	c.last.Store(c)
	return c.Conn.Write(b)
}

// TestUnansweredPingIsPassedOver: an idle connection whose PING is not answered is
// given to nobody while there is another one, though it was used last.
func TestUnansweredPingIsPassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := simulatedServer(t, time.Millisecond)
		dial, last := d.NetDial, new(atomic.Pointer[deafened])
		d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return &deafened{Conn: conn, last: last}, err
		}
		p, err := New(Fixed{Size: 2, Options: Options{PingEvery: time.Second}}, d, "simulated:1", nil)
		require.NoError(t, err)
		defer p.Close()
		first, err := p.Lend(t.Context())
		require.NoError(t, err)
		second, err := p.Lend(t.Context())
		require.NoError(t, err)
		require.NoError(t, second.Do(t.Context(), radix.Cmd(nil, "PING")))
		last.Load().deaf.Store(true)
		first.Return()
		second.Return()
		time.Sleep(1600 * ms)
		require.Equal(t, 1, p.Stats().InFlight, "a PING is out")

		_, err = incr(p, 100*ms)
		require.NoError(t, err)
		conn, err := p.Lend(t.Context())
		require.NoError(t, err)
		defer conn.Return()
		require.Same(t, first.member, conn.member)
		other, err := p.Lend(t.Context())
		require.NoError(t, err, "better than none")
		other.Return()
	})
}
