package nodepool

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
)

// TestFailFastKnowsWhoIsBack: a connection whose reply has arrived is not in use,
// though the pool has not been told yet.
func TestFailFastKnowsWhoIsBack(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Fixed{Size: 1, Options: Options{FailFast: true}}, server)
	ctx := within(t, 10*time.Second)
	conn, err := p.Dedicate(ctx)
	require.NoError(t, err)
	conn.Return()
	p.main.mu.Lock()
	m := exclusiveIn(p).popLocked()
	command := resp.AppendCommand(nil, "PING")
	call, b := wire.NewCall(), new(wire.Batch)
	b.Reset(call, command)
	b.Add(0, len(command))
	call.Begin(1)
	require.True(t, p.main.mu.giveLocked(m.lane, b, besidePing))
	m.becomeLocked(busy)
	require.ErrorIs(t, p.main.refusalLocked(false), redislanes.ErrExhausted)
	for _, lane := range p.main.mu.flushes {
		lane.Flush()
	}
	p.main.mu.flushes = nil
	require.NoError(t, call.Wait(ctx)) // the lane waits for p.main.mu to tell of it
	if err := p.main.refusalLocked(false); err != nil {
		p.main.mu.Unlock()
		t.Fatal(err)
	}
	require.NoError(t, p.main.waitLocked(&waiter{given: make(chan dedicateResult, 1)}, false))
	require.ErrorIs(t, p.main.refusalLocked(false), redislanes.ErrExhausted, "somebody waits for that one")
	w := p.main.queue.fast.head
	p.main.mu.Unlock()
	exclusiveIn(p).takeBack((<-w.given).member, true)
}

// TestFailFastBesideOneThatLeaves: a connection that is on its way out, which may take a
// while, is not in use. Whoever comes meanwhile waits for the next one.
func TestFailFastBesideOneThatLeaves(t *testing.T) {
	for name, c := range map[string]Config{
		"fixed": Fixed{Size: 1, Options: Options{FailFast: true}}, "laned": Laned{Lanes: 1, Options: Options{FailFast: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c, 50*time.Millisecond)
				require.NoError(t, w.Do(t.Context(), radix.Cmd(nil, "PING")))
				w.main.mu.Lock()
				w.main.leaveLocked(w.main.members[0], errAged, false)
				err := w.main.refusalLocked(false)
				w.main.mu.Unlock()
				require.NoError(t, err)
				require.NoError(t, w.Do(t.Context(), radix.Cmd(nil, "PING")))
				require.EqualValues(t, 1, w.figures().Closes["aged"])
			})
		})
	}
}

// TestFailFastNamesTheLimit: of a laned pool, batches or bytes.
func TestFailFastNamesTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(holder)
		p := h.pool(t, Laned{Lanes: 1, MaxInFlight: 2, Options: Options{FailFast: true}})
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
		h.hold(everything)
		done := make(chan error, 3)
		for range cap(done) {
			go func() { done <- p.Do(t.Context(), radix.Cmd(nil, "INCR", "k")) }()
			synctest.Wait()
		}
		err := <-done
		require.ErrorIs(t, err, redislanes.ErrExhausted)
		require.ErrorContains(t, err, "2 batches in flight on every lane, or")
		h.hold(nothing)
		require.NoError(t, <-done)
		require.NoError(t, <-done)
	})
}

// TestRefusalTakesNoLock: under overload most calls are refused. If they waited for the lock of
// those that are served, they would overrun their deadlines.
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
		s := p.figures()
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
	require.EqualValues(t, 1, p.figures().Exhausted)
	require.NoError(t, server.Nodes()[0].Do(ctx, nil, "CLIENT", "UNPAUSE"))
	for range cap(served) {
		require.NoError(t, <-served)
	}
}
