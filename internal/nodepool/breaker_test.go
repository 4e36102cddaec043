package nodepool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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
			until(t, "no dial of the beginning is left", func() bool { s := p.Stats(); return s.Open >= 2 && s.Dialing == 0 })
			node := server.Nodes()[0]
			require.NoError(t, node.Pause())
			defer func() { _ = node.Resume() }()
			stopped := time.Now()
			require.ErrorIs(t, p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")), redislanes.ErrUnknownOutcome)
			until(t, "the server counts as down", func() bool { return p.Stats().Down })
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
				require.LessOrEqual(t, p.Stats().Dialing, 1)
			}
			require.NoError(t, node.Resume())
			until(t, "it works again", func() bool { return p.Do(context.Background(), radix.Cmd(nil, "PING")) == nil })
			require.False(t, p.Stats().Down)
			require.EqualValues(t, 1, p.Stats().Downs)
		})
	}
}

// TestIdleConnectionsArePinged: a server that has stopped is noticed without
// any caller's command.
func TestIdleConnectionsArePinged(t *testing.T) {
	for name, kind := range impatientKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servers.StartServer(t, servers.Options{})
			p := open(t, kind, server)
			until(t, "it is connected", func() bool { return p.Stats().Open >= 2 })
			node := server.Nodes()[0]
			require.NoError(t, node.Pause())
			defer func() { _ = node.Resume() }()
			until(t, "the server counts as down", func() bool { return p.Stats().Down })
			require.Positive(t, p.Stats().Closes[redislanes.CloseStalled])
			require.NoError(t, node.Resume())
			until(t, "it is connected again", func() bool { return p.Stats().Open >= 2 })
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
	var lent []*Dedicated
	for range 4 {
		l, err := p.Dedicate(ctx)
		require.NoError(t, err)
		lent = append(lent, l)
	}
	for _, l := range lent {
		l.Return()
	}
	until(t, "the pool has shrunk", func() bool { return p.Stats().Open == 1 })
	require.EqualValues(t, 3, p.Stats().Closes[redislanes.CloseIdle])
}

// TestRefusedHandshakesAreSlow: a server that refuses a password is not asked
// over and over.
func TestRefusedHandshakesAreSlow(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{Password: "right"})
	p, err := New(Laned{Lanes: 4, Options: Options{MinBackoff: time.Nanosecond, MaxBackoff: time.Hour}},
		lanes.Dialer{Password: "wrong"}, server.Addrs()[0], nil)
	require.NoError(t, err)
	defer p.Close()
	until(t, "all dials have failed", func() bool { s := p.Stats(); return s.DialErrors > 0 && s.Dialing == 0 })
	for range 100 {
		var refused *redislanes.HandshakeError
		require.ErrorAs(t, p.Do(context.Background(), radix.Cmd(nil, "PING")), &refused)
	}
	require.LessOrEqual(t, p.Stats().Dials, uint64(health.MaxDials))
}

// traffic lets callers count until stop; which of their errors do not count as
// failures, says tolerate.
func traffic(t *testing.T, p *Node, tolerate error) (calls *atomic.Int64, stop func()) {
	calls = new(atomic.Int64)
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for ctx.Err() == nil {
				err := p.Do(context.Background(), radix.Cmd(nil, "INCR", "k"))
				switch {
				case err == nil:
					calls.Add(1)
				case tolerate == nil || !errors.Is(err, tolerate) || errors.Is(err, redislanes.ErrUnknownOutcome):
					t.Errorf("a call failed: %v", err)
					return
				}
			}
		})
	}
	return calls, func() { cancel(); callers.Wait() }
}

// TestRenewUnderTraffic replaces all connections without any call's noticing.
func TestRenewUnderTraffic(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servers.StartServer(t, servers.Options{})
			p := open(t, kind, server)
			calls, stop := traffic(t, p, nil)
			until(t, "connections are old enough, and replaced", func() bool {
				p.Renew(time.Time{})
				return p.Stats().Closes[redislanes.CloseRenewed] >= 3
			})
			seen := calls.Load()
			until(t, "the traffic goes on", func() bool { return calls.Load() > seen+100 })
			stop()
			require.Zero(t, p.Stats().DialErrors)
		})
	}
}

// TestRetireUnderTraffic: what is in flight gets its replies, everything else
// was not sent.
func TestRetireUnderTraffic(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			for range 8 {
				require.NoError(t, server.Nodes()[0].Do(within(t, 5*time.Second), nil, "DEL", "k"))
				p := open(t, kind, server)
				calls, stop := traffic(t, p, cause.ErrRetired)
				until(t, "there is traffic", func() bool { return calls.Load() > 50 })
				p.Retire()
				until(t, "no connection is left, also none that was being dialled", func() bool {
					s := p.Stats()
					return s.Open == 0 && s.Dialing == 0
				})
				require.ErrorIs(t, lendError(within(t, time.Second), p), cause.ErrRetired)
				stop()
				var n int64
				require.NoError(t, server.Nodes()[0].Do(within(t, 5*time.Second), &n, "GET", "k"))
				require.Equal(t, n, calls.Load(), "every INCR was acknowledged")
				require.Equal(t, []int{0, 0}, []int{p.Stats().Open, p.Stats().Dialing})
			}
		})
	}
}
