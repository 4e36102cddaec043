package nodepool

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/servers"
)

// TestManyCallers: every caller gets its own replies, and no pool has more
// connections than it may.
func TestManyCallers(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			p := open(t, kind, server)
			ctx := within(t, 20*time.Second)
			var wg sync.WaitGroup
			for caller := range 40 {
				wg.Go(func() {
					for round := range 100 {
						want, got := fmt.Sprint(caller, ":", round), ""
						if err := p.Do(ctx, radix.Cmd(&got, "ECHO", want)); err != nil || got != want {
							t.Errorf("got %q, %v; want %q", got, err, want)
							return
						}
					}
				})
			}
			wg.Wait()
			s := p.figures()
			require.LessOrEqual(t, s.Open, 3)
			require.EqualValues(t, s.Open+s.Dialing, s.Dials)
			until(t, "nothing is in flight", func() bool { return p.Quiet() })
		})
	}
}

func TestExhausted(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	for name, c := range map[string]struct {
		options Options
		limit   string
	}{
		"fail fast":   {Options{FailFast: true}, "1 connections in use"},
		"max waiters": {Options{MaxWaiters: 2}, "2 callers waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, Fixed{Size: 1, Options: c.options}, server)
			ctx := within(t, 10*time.Second)
			conn, err := p.Dedicate(ctx)
			require.NoError(t, err)
			var wg sync.WaitGroup
			for i := range c.options.MaxWaiters {
				wg.Go(func() { _ = p.Do(ctx, radix.Cmd(nil, "PING")) })
				until(t, "it waits", func() bool { return p.figures().Waiters == i+1 })
			}
			for _, err := range []error{p.Do(ctx, radix.Cmd(nil, "PING")), dedicateError(ctx, p)} {
				require.ErrorIs(t, err, redislanes.ErrExhausted)
				require.ErrorIs(t, err, redislanes.ErrNotSent)
				require.ErrorContains(t, err, p.Address())
				require.ErrorContains(t, err, c.limit)
			}
			require.EqualValues(t, 2, p.figures().Exhausted)
			conn.Return()
			wg.Wait()
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
		})
	}
}

func dedicateError(ctx context.Context, p *Node) error {
	_, err := p.Dedicate(ctx)
	return err
}

// TestSlowCommandsHoldNobodyUp: while commands on some connections get no reply, those
// on another one do, and the pool's methods return.
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
	until(t, "two connections wait for their replies", func() bool { return p.figures().InUse == 2 })
	for range 100 { // they take microseconds; a lock would cost seconds
		fast, cancel := context.WithTimeout(ctx, time.Second)
		require.NoError(t, p.Do(fast, radix.Cmd(nil, "PING")))
		cancel()
	}
	require.Equal(t, 2, p.figures().InUse)
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "UNPAUSE"))
	for range cap(slow) {
		require.NoError(t, <-slow)
	}
}
