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

// TestPingsAreNoUse: PINGs that are out are no use of a laned pool.
func TestPingsAreNoUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(holder)
		p := h.pool(t, Laned{Lanes: 2, Options: Options{PingEvery: time.Second, StallTimeout: time.Minute}})
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		h.hold(everything)
		time.Sleep(1600 * ms)
		require.Equal(t, 2, withPings(p))
		s := p.figures()
		require.Equal(t, []int{0, 2, 0}, []int{s.InUse, s.Idle, s.InFlight})
		require.Equal(t, []int{0, 0}, s.LaneInFlight)
		require.False(t, p.Quiet(), "a PING must have its reply, too")
		go func() { _ = p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")) }()
		synctest.Wait()
		s = p.figures()
		require.Equal(t, []int{1, 1, 1}, []int{s.InUse, s.Idle, s.InFlight})
	})
}

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
	until(t, "all connections are there", func() bool { return p.figures().Idle == size })
	proxy.Stall(redistest.ToClient)
	p.main.inspect(time.Now().Add(p.main.PingEvery))
	require.Equal(t, size, withPings(p), "each connection is pinged")
	require.Zero(t, p.figures().InFlight)
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

// TestPingFillsALane: a lane that only a PING fills refuses no caller, also with FailFast: one
// caller waits until the PING is answered.
func TestPingFillsALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(holder)
		p := h.pool(t, Laned{Lanes: 1, MaxInFlight: 1, Options: Options{FailFast: true, PingEvery: time.Second, StallTimeout: time.Minute}})
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
		h.hold(everything)
		time.Sleep(1600 * ms)
		require.Equal(t, 1, withPings(p))
		done := make(chan error, 1)
		go func() { done <- p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")) }()
		synctest.Wait()
		require.Equal(t, 1, p.figures().Waiters)
		require.ErrorIs(t, p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")), redislanes.ErrExhausted)
		h.hold(nothing)
		require.NoError(t, <-done)
	})
}

// TestNoPingBetweenReplyAndRelease: a connection whose batch has been answered, and
// that the pool has not been told of yet, gets no PING: it would stay in use until
// that is answered, and count as load that no caller makes.
func TestNoPingBetweenReplyAndRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simulated(t, Fixed{Size: 1}, simulatedServer(t, time.Millisecond))
		time.Sleep(time.Second) // it is connected
		p.main.mu.Lock()
		m := p.main.members[0]
		m.becomeLocked(busy)
		p.main.mu.Unlock()
		p.main.inspect(time.Now().Add(2 * p.main.PingEvery))
		require.Zero(t, m.lane.InFlight())
		p.main.mu.Lock()
		m.becomeLocked(isIdle)
		p.main.mu.Unlock()
		p.main.inspect(time.Now().Add(2 * p.main.PingEvery))
		require.Equal(t, 1, m.lane.InFlight())
	})
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
		p := simulated(t, Fixed{Size: 2, Options: Options{PingEvery: time.Second}}, d)
		first, err := p.Dedicate(t.Context())
		require.NoError(t, err)
		second, err := p.Dedicate(t.Context())
		require.NoError(t, err)
		require.NoError(t, second.Do(t.Context(), radix.Cmd(nil, "PING")))
		last.Load().deaf.Store(true)
		first.Return()
		second.Return()
		time.Sleep(1600 * ms)
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
	for name, kind := range impatientKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servers.StartServer(t, servers.Options{})
			p := open(t, kind, server)
			until(t, "it is connected", func() bool { return p.figures().Open >= 2 })
			node := server.Nodes()[0]
			require.NoError(t, node.Pause())
			defer func() { _ = node.Resume() }()
			until(t, "the server counts as down", func() bool { return p.figures().Down })
			require.Positive(t, p.figures().Closes["stalled"])
			require.NoError(t, node.Resume())
			until(t, "it is connected again", func() bool { return p.figures().Open >= 2 })
		})
	}
}

// TestPingsAreNotUse: a connection that is only pinged is idle, so that an
// adaptive pool still shrinks.
func TestPingsAreNotUse(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Adaptive{Min: 1, Max: 4, IdleTimeout: 300 * time.Millisecond,
		Options: Options{PingEvery: 10 * time.Millisecond}}, server)
	ctx := within(t, 20*time.Second)
	var own []*Dedicated
	for range 4 {
		l, err := p.Dedicate(ctx)
		require.NoError(t, err)
		own = append(own, l)
	}
	for _, l := range own {
		l.Return()
	}
	until(t, "the pool has shrunk", func() bool { return p.figures().Open == 1 })
	require.EqualValues(t, 3, p.figures().Closes["idle"])
}
