package nodepool

import (
	"context"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
)

// TestSlowCommandsHoldNobodyUp: while commands on some connections get no reply,
// those on another one do, and so does everything that the pool is asked.
func TestSlowCommandsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Fixed{Size: 3}, server)
	ctx := within(t, 20*time.Second)
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
	slow := make(chan error, 2)
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "PAUSE", "100000", "WRITE"))
	for range cap(slow) {
		go func() { slow <- p.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
	}
	until(t, "two connections wait for their replies", func() bool { return p.Stats().InUse == 2 })
	for range 100 { // they take microseconds; a lock would cost seconds
		fast, cancel := context.WithTimeout(ctx, time.Second)
		require.NoError(t, p.Do(fast, radix.Cmd(nil, "PING")))
		cancel()
	}
	require.Equal(t, 2, p.Stats().InUse)
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "UNPAUSE"))
	for range cap(slow) {
		require.NoError(t, <-slow)
	}
}

// TestRefusalTakesNoLock: under overload most are refused, and those must not
// queue for the lock of those who are served, or they overrun their deadlines.
func TestRefusalTakesNoLock(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Laned{Lanes: 1, MaxInFlight: 1, Options: Options{MaxWaiters: 1}}, server)
	ctx := within(t, 20*time.Second)
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "PAUSE", "100000", "WRITE"))
	served := make(chan error, 2)
	for range cap(served) {
		go func() { served <- p.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
	}
	until(t, "one is in flight and one waits", func() bool {
		s := p.Stats()
		return s.InFlight == 1 && s.Waiters == 1
	})
	refused := make(chan error, 1)
	p.main.mu.Lock()
	go func() { refused <- p.Do(ctx, radix.Cmd(nil, "INCR", "k")) }()
	select {
	case err := <-refused:
		p.main.mu.Unlock()
		require.ErrorIs(t, err, redislanes.ErrExhausted)
		require.ErrorContains(t, err, "1 callers waiting")
	case <-ctx.Done():
		p.main.mu.Unlock()
		t.Fatal("who is refused waits for the lock")
	}
	require.EqualValues(t, 1, p.Stats().Exhausted)
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "UNPAUSE"))
	for range cap(served) {
		require.NoError(t, <-served)
	}
}
