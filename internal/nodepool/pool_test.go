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
			s := p.Stats()
			require.LessOrEqual(t, s.Open, 3)
			require.EqualValues(t, s.Open+s.Dialing, s.Dials)
			until(t, "nothing is in flight", func() bool { return p.Quiet() })
		})
	}
}

// TestWaitersAreServedInOrder blocks the only connection and queues commands
// one after the other.
func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Fixed{Size: 1}, server)
	ctx := within(t, 20*time.Second)
	conn, err := p.Dedicate(ctx)
	require.NoError(t, err)
	before := p.Stats().WaitCount // Lend may have waited for the dial
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := p.Do(ctx, radix.FlatCmd(nil, "RPUSH", "order", i)); err != nil {
				t.Error(err)
			}
		})
		until(t, "the command waits", func() bool { return p.Stats().Waiters == i+1 })
	}
	require.Equal(t, 1, p.Stats().InUse)
	conn.Return()
	wg.Wait()
	s := p.Stats() // LRANGE may have to wait until the connection is free
	var order []int
	require.NoError(t, p.Do(ctx, radix.Cmd(&order, "LRANGE", "order", "0", "-1")))
	for i, n := range order {
		require.Equal(t, i, n)
	}
	require.EqualValues(t, 20, s.WaitCount-before)
	require.Positive(t, s.WaitTime)
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
				until(t, "it waits", func() bool { return p.Stats().Waiters == i+1 })
			}
			for _, err := range []error{p.Do(ctx, radix.Cmd(nil, "PING")), lendError(ctx, p)} {
				require.ErrorIs(t, err, redislanes.ErrExhausted)
				require.ErrorIs(t, err, redislanes.ErrNotSent)
				require.ErrorContains(t, err, p.Address())
				require.ErrorContains(t, err, c.limit)
			}
			require.EqualValues(t, 2, p.Stats().Exhausted)
			conn.Return()
			wg.Wait()
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
		})
	}
}

func lendError(ctx context.Context, p *Node) error {
	_, err := p.Dedicate(ctx)
	return err
}

// TestLeavingTheQueue: who leaves at the deadline is told that nothing was
// sent, and nothing is sent later.
func TestLeavingTheQueue(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Fixed{Size: 1}, server)
	conn, err := p.Dedicate(within(t, 5*time.Second))
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = p.Do(short, radix.Cmd(nil, "SET", "left", "1"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, redislanes.ErrNotSent)
	require.ErrorIs(t, lendError(short, p), context.DeadlineExceeded)
	require.Zero(t, p.Stats().Waiters)
	conn.Return()
	require.Empty(t, get(t, p, "left"))
}

func TestAdaptiveGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Adaptive{Min: 2, Max: 6, IdleTimeout: 50 * time.Millisecond}, server)
	ctx := within(t, 10*time.Second)
	until(t, "it has Min connections", func() bool { return p.Stats().Open == 2 })
	var conns []*Dedicated
	for range 6 {
		conn, err := p.Dedicate(ctx)
		require.NoError(t, err)
		conns = append(conns, conn)
	}
	require.Equal(t, 6, p.Stats().Open)
	for _, c := range conns {
		c.Return()
	}
	until(t, "it is back at Min", func() bool { return p.Stats().Open == 2 })
	require.EqualValues(t, 4, p.Stats().Closes[redislanes.CloseIdle])
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PING")))
}

// TestLending: a dedicated connection is nobody else's, and what its user leaves
// behind reaches nobody.
func TestLending(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			p := open(t, kind, server)
			ctx := within(t, 10*time.Second)
			c, err := p.Dedicate(ctx)
			require.NoError(t, err)
			require.Equal(t, 1, p.Stats().Dedicated)
			require.NoError(t, c.Do(ctx, radix.Cmd(nil, "SELECT", "3")))
			require.NoError(t, p.Do(ctx, radix.Cmd(nil, "SET", name, "in 0")))
			c.Return()
			for range 4 {
				c, err := p.Dedicate(ctx)
				require.NoError(t, err)
				reply, err := say(ctx, c, "GET "+name)
				require.NoError(t, err)
				require.Equal(t, "$4\r\nin 0\r\n", reply)
				c.Return()
			}
			require.Zero(t, p.Stats().Closes[redislanes.CloseUnclean])
			require.Equal(t, "in 0", get(t, p, name))
			require.Zero(t, p.Stats().Dedicated)
		})
	}
}
