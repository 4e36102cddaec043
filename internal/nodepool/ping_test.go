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

// withPings returns how many batches are in flight, PINGs included.
func withPings(p *Node) (n int) {
	p.main.mu.Lock()
	defer p.main.mu.Unlock()
	for _, m := range p.main.members {
		n += m.lane.InFlight()
	}
	return n
}

// TestPingsTakeNoConnection: while PINGs are out on all connections, callers and
// users get one all the same, whether they may wait or not, and the PINGs do not
// count as use.
func TestPingsTakeNoConnection(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	const size = 3
	p, err := New(Fixed{Size: size, Options: Options{FailFast: true, StallTimeout: time.Hour}},
		lanes.Dialer{}, proxy.Addr(), nil)
	require.NoError(t, err)
	defer p.Close()
	until(t, "all connections are there", func() bool { return p.figures().Idle == size })
	proxy.Stall(redistest.ToClient)
	p.main.inspect(time.Now().Add(pingEvery))
	require.Equal(t, size, withPings(p), "each connection is pinged")
	require.Zero(t, p.figures().InUse)

	ctx := within(t, 20*time.Second)
	conn, err := p.Dedicate(ctx)
	require.NoError(t, err)
	done := make(chan error, size)
	for range size - 1 {
		go func() { done <- p.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
	}
	go func() { done <- conn.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
	until(t, "each has a connection", func() bool { return p.figures().InUse == size && withPings(p) == 2*size })
	require.ErrorIs(t, p.Do(ctx, radix.Cmd(nil, "INCR", "k")), redislanes.ErrExhausted, "there is one caller to a connection")
	proxy.Flow(redistest.ToClient)
	for range size {
		require.NoError(t, <-done)
	}
	conn.Return()
	until(t, "all are free", func() bool { return p.figures().Idle == size })
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
// given to nobody while there is another one, though it was used last. It is replaced.
func TestUnansweredPingIsPassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := simulatedServer(t, time.Millisecond)
		dial, last := d.NetDial, new(atomic.Pointer[deafened])
		d.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return &deafened{Conn: conn, last: last}, err
		}
		p := simulated(t, Fixed{Size: 2}, d)
		first, err := p.Dedicate(t.Context())
		require.NoError(t, err)
		second, err := p.Dedicate(t.Context())
		require.NoError(t, err)
		require.NoError(t, second.Do(t.Context(), radix.Cmd(nil, "PING")))
		last.Load().deaf.Store(true)
		first.Return()
		second.Return()
		time.Sleep(pingEvery + 600*ms)
		require.Equal(t, 1, withPings(p), "a PING is out")

		_, err = incr(p, 100*ms)
		require.NoError(t, err)
		conn, err := p.Dedicate(t.Context())
		require.NoError(t, err)
		defer conn.Return()
		require.Same(t, first.member, conn.member)
		other, err := p.Dedicate(t.Context())
		require.NoError(t, err, "the replacement")
		other.Return()
	})
}

// TestIdleConnectionsArePinged: a server that has stopped is noticed without
// any caller's command.
func TestIdleConnectionsArePinged(t *testing.T) {
	for name, kind := range suspiciousKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := new(holder)
				p := h.pool(t, kind)
				time.Sleep(time.Second)
				h.hold(everything)
				time.Sleep(pingEvery + defaultStallTimeout + time.Second)
				require.True(t, p.figures().Down)
				require.Positive(t, p.figures().Closes["stalled"])
				h.hold(nothing)
				time.Sleep(2 * time.Second)
				require.False(t, p.figures().Down)
				require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
			})
		})
	}
}
