package nodepool

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// slowly is the pool for a batch that is marked as slow.
type slowly struct{ *Node }

func (s slowly) Submit(b *wire.Batch) bool {
	b.Slow = true
	return s.Node.Submit(b)
}

func (s slowly) do(ctx context.Context, args ...string) error {
	call, b := wire.NewCall(), new(wire.Batch)
	command := resp.AppendCommand(nil, args[0], args[1:]...)
	b.Reset(call, command)
	b.Add(0, len(command))
	wire.RoundTrip(ctx, s, b)
	_, err := b.Reply(0)
	return err
}

// stuck returns a pool to a server on which some calls of wait are held up on their connections until release is called.
func stuck(t *testing.T, c Config) (p *Node, release func()) {
	server := servers.StartServer(t, servers.Options{})
	p = open(t, c, server)
	return p, func() {
		require.NoError(t, server.Nodes()[0].Do(within(t, 5*time.Second), nil, "RPUSH", "k", "1", "2", "3", "4"))
	}
}

func (s slowly) wait(ctx context.Context) error { return s.do(ctx, "BLPOP", "k", "0") }

var patient = Options{SuspectAfter: time.Hour, StallTimeout: time.Hour}

func TestSlowLanesAreDialledWhenNeeded(t *testing.T) {
	t.Parallel()
	p, release := stuck(t, Laned{Lanes: 1, Options: patient})
	ctx := within(t, 20*time.Second)
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
	require.EqualValues(t, 1, p.figures().Dials)
	require.Nil(t, p.figures().SlowLaneInFlight)

	done := make(chan error, 4)
	for range cap(done) {
		go func() { done <- slowly{p}.wait(ctx) }()
	}
	until(t, "the slow batches are on their lanes", func() bool { return p.figures().SlowInFlight == 4 })
	until(t, "both lanes are there", func() bool { return len(p.figures().SlowLaneInFlight) == 2 })
	s := p.figures()
	require.Zero(t, s.InFlight)
	require.Equal(t, 1, s.Open)
	require.Equal(t, 1, s.Size)
	require.EqualValues(t, 3, s.Dials)
	require.False(t, p.Quiet())
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")), "nobody queues behind them")
	release()
	for range cap(done) {
		require.NoError(t, <-done)
	}
	until(t, "it is quiet", p.Quiet)
}

// TestLargeBatches: a batch of 256 KiB travels on the lanes for slow commands, and a smaller one
// does not. While the server takes it, others have their replies.
func TestLargeBatches(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	p, err := New(Laned{Lanes: 1, Options: patient}, lanes.Dialer{}, proxy.Addr(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	ctx := within(t, 20*time.Second)
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "SET", "k", strings.Repeat("x", largeBatch-100))))
	require.Nil(t, p.figures().SlowLaneInFlight)
	proxy.Throttle(redistest.ToServer, 10_000) // of each connection
	done := make(chan error, 1)
	go func() { done <- p.Do(ctx, radix.Cmd(nil, "SET", "k", strings.Repeat("x", largeBatch))) }()
	until(t, "the large batch is on its lane", func() bool { return p.figures().SlowInFlight == 1 })
	for range 10 {
		require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
	}
	require.Equal(t, 1, p.figures().SlowInFlight)
	proxy.Throttle(redistest.ToServer, 0)
	require.NoError(t, <-done)
}

// TestSlowQueueIsBounded: MaxWaiters and FailFast hold for the lanes of slow
// batches by themselves.
func TestSlowQueueIsBounded(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{
		"1 callers waiting":                 {MaxWaiters: 1, StallTimeout: time.Hour},
		"1 batches in flight on every lane": {FailFast: true, StallTimeout: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			p, release := stuck(t, Laned{Lanes: 1, SlowLanes: 1, MaxInFlight: 1, Options: options})
			ctx := within(t, 20*time.Second)
			done := make(chan error, 2)
			begun := 1
			go func() { done <- slowly{p}.wait(ctx) }()
			until(t, "the lane is full", func() bool { return p.figures().SlowInFlight == 1 })
			if !options.FailFast {
				begun++
				go func() { done <- slowly{p}.wait(ctx) }()
				until(t, "the queue is full", func() bool { return p.figures().Waiters == 1 })
			}
			err := slowly{p}.wait(ctx)
			require.ErrorIs(t, err, redislanes.ErrExhausted)
			require.ErrorContains(t, err, name+" for slow commands")
			require.EqualValues(t, 1, p.figures().Exhausted)
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
			release()
			for range begun {
				require.NoError(t, <-done)
			}
		})
	}
}

// TestRenewReachesAllConnections: when the address may lead to another server, lanes
// for slow batches and idle ones to dedicate are replaced, too.
func TestRenewReachesAllConnections(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Laned{Lanes: 1, SlowLanes: 1}, server)
	ctx := within(t, 20*time.Second)
	require.NoError(t, slowly{p}.do(ctx, "GET", "k"))
	conn, err := p.Dedicate(ctx)
	require.NoError(t, err)
	conn.Return()
	until(t, "the shared lane is there, which nobody has used yet", func() bool { return p.figures().Open == 1 })
	p.Renew(time.Time{})
	until(t, "three connections are closed", func() bool { return p.figures().Closes["renewed"] == 3 })
	require.NoError(t, slowly{p}.do(ctx, "GET", "k"))
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
}
