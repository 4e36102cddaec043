package pool

import (
	"context"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/redistest"
	"github.com/redislanes/redislanes/lanes"
)

// pausedKinds have all their connections in flight when there are two callers.
func pausedKinds(pause time.Duration) map[string]Config {
	o := Options{StallTimeout: 100 * time.Millisecond, PauseTimeout: pause, PingEvery: -1}
	return map[string]Config{
		"fixed": Fixed{Size: 2, Options: o},
		"laned": Laned{Lanes: 2, Strategy: lanes.RoundRobin, Options: o},
	}
}

// TestPausedServerIsNotStalled: a server that lets writers wait, as in a
// graceful failover, still answers others. What is in flight must get its reply
// in the end.
func TestPausedServerIsNotStalled(t *testing.T) {
	for name, kind := range pausedKinds(time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.StartServer(t, redistest.Options{})
			p := open(t, kind, server)
			ctx := within(t, 20*time.Second)
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
			require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "PAUSE", "100000", "WRITE"))
			done := make(chan error, 2)
			for range cap(done) {
				go func() { done <- p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")) }()
			}
			until(t, "the server has answered for much longer than the stall timeout", func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.watch.excused > 10 // each after a half of it, but for the first ones
			})
			require.Equal(t, 2, p.Stats().InFlight)
			require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "UNPAUSE"))
			for range cap(done) {
				require.NoError(t, <-done)
			}
			require.Equal(t, "2", get(t, p, "k"))
			require.Zero(t, p.Stats().Closes[CloseStalled])
		})
	}
}

// TestPauseTimeout: in the end a silent connection is given up, but the server
// does not count as down.
func TestPauseTimeout(t *testing.T) {
	for name, kind := range pausedKinds(400 * time.Millisecond) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.StartServer(t, redistest.Options{})
			p := open(t, kind, server)
			ctx := within(t, 20*time.Second)
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
			until(t, "all connections are there", func() bool { return p.Stats().Open == 2 })
			require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "PAUSE", "100000", "WRITE"))
			err := p.Do(context.Background(), radix.Cmd(nil, "INCR", "k"))
			require.ErrorIs(t, err, lanes.ErrUnknownOutcome)
			require.ErrorIs(t, err, lanes.ErrStalled)
			require.False(t, p.Stats().Down)
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
		})
	}
}

// TestSilentConnection: one connection gets nothing, because of the network,
// while the server answers on the other one.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	server := redistest.StartServer(t, redistest.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	p, err := New(Laned{Lanes: 1, Options: Options{StallTimeout: 100 * time.Millisecond, PauseTimeout: 300 * time.Millisecond}},
		lanes.Dialer{}, proxy.Addr(), nil)
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Do(context.Background(), radix.Cmd(nil, "PING")))
	proxy.Stall(redistest.ToClient)
	require.ErrorIs(t, p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")), lanes.ErrStalled)
	require.ErrorIs(t, p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")), ErrDown)
	proxy.Flow(redistest.ToClient)
	until(t, "it works again", func() bool { return p.Do(context.Background(), radix.Cmd(nil, "PING")) == nil })
	require.Equal(t, "1", get(t, p, "k"))
}
