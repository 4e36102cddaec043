package nodepool

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
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
	require.ErrorIs(t, p.main.refusalLocked(), redislanes.ErrExhausted)
	for _, lane := range p.main.mu.flushes {
		lane.Flush()
	}
	p.main.mu.flushes = nil
	require.NoError(t, call.Wait(ctx)) // the lane waits for p.main.mu to tell of it
	if err := p.main.refusalLocked(); err != nil {
		p.main.mu.Unlock()
		t.Fatal(err)
	}
	require.NoError(t, p.main.waitLocked(&waiter{given: make(chan dedicateResult, 1)}))
	require.ErrorIs(t, p.main.refusalLocked(), redislanes.ErrExhausted, "somebody waits for that one")
	w := p.main.queue.first()
	p.main.mu.Unlock()
	p.main.takeBack((<-w.given).member, clean)
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
				err := w.main.refusalLocked()
				w.main.mu.Unlock()
				require.NoError(t, err)
				require.NoError(t, w.Do(t.Context(), radix.Cmd(nil, "PING")))
				require.EqualValues(t, 1, w.Stats().Closes[redislanes.CloseAged])
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
		require.ErrorContains(t, err, "2 batches in flight on every lane (MaxInFlight)")
		h.hold(nothing)
		require.NoError(t, <-done)
		require.NoError(t, <-done)
	})
	p := &Pool{settings: Settings{Kind: KindLaned, Max: 1, MaxInFlight: 2, MaxQueued: 1000}}
	p.members = []*member{{state: shared, lane: new(wire.Lane)}}
	require.Equal(t, "1000 bytes queued on every lane (MaxQueuedBytes)", p.limitLocked())
	p.size.open = 2 // one more than wanted, for now
	require.True(t, p.fullLocked())
}

// TestEachUnansweredDialIsNoticed: what was lent and given back between two looks has shown
// that the server makes nobody wait. Each unanswered dial took twice as long as the last.
func TestEachUnansweredDialIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(holder)
		p := h.pool(t, Laned{Lanes: 1, MaxDedicated: 8})
		for range 5 {
			conn, err := p.Dedicate(t.Context())
			require.NoError(t, err)
			defer conn.Return()
			h.lose(true)
			began := time.Now()
			_, err = p.Dedicate(t.Context())
			require.ErrorIs(t, err, cause.ErrSuspect)
			require.Less(t, time.Since(began), 3*health.MinSilence)
			h.lose(false)
			time.Sleep(5 * time.Second)
			again, err := p.Dedicate(t.Context())
			require.NoError(t, err)
			require.NoError(t, again.Do(t.Context(), radix.Cmd(nil, "INCR", "k")))
			again.Return()
		}
	})
}

// TestDialsThatTimeOutBesideDedicatedConnections: dials that are given up before the pool wonders
// are one silence, whatever the random pauses between them.
func TestDialsThatTimeOutBesideDedicatedConnections(t *testing.T) {
	for range 5 {
		synctest.Test(t, dialsTimeOutBesideADedicatedConnection)
	}
}

func dialsTimeOutBesideADedicatedConnection(t *testing.T) {
	h := new(holder)
	h.cond, h.holds = sync.NewCond(&h.mu), nothing
	p, err := New(Laned{Lanes: 1}, lanes.Dialer{NetDial: h.dial, Timeout: 100 * ms}, "simulated:1", nil)
	require.NoError(t, err)
	defer h.tasks.Wait()
	defer p.Close()
	conn, err := p.Dedicate(t.Context())
	require.NoError(t, err)
	defer conn.Return()
	h.lose(true)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = p.Dedicate(ctx)
	require.ErrorIs(t, err, cause.ErrSuspect)
	require.Less(t, time.Since(began), time.Second)
	h.lose(false)
	time.Sleep(5 * time.Second)
	again, err := p.Dedicate(t.Context())
	require.NoError(t, err, "the server answers again")
	again.Return()
}

// TestUnansweredDialBesideDedicatedConnections: those who wait for a dial that is not
// answered learn so as soon as if none were lent, unless what is lent shows life.
func TestUnansweredDialBesideDedicatedConnections(t *testing.T) {
	for name, kind := range map[string]Config{"fixed": Fixed{Size: 2}, "adaptive": Adaptive{Max: 2}, "laned": Laned{Lanes: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := new(holder)
				p := h.pool(t, kind)
				conn, err := p.Dedicate(t.Context())
				require.NoError(t, err)
				time.Sleep(time.Second)
				if name == "fixed" { // its second connection is there
					second, err := p.Dedicate(t.Context())
					require.NoError(t, err)
					h.lose(true)
					require.NoError(t, second.Close())
					second.Return()
				}
				h.lose(true)
				began := time.Now()
				_, err = p.Dedicate(t.Context())
				require.ErrorIs(t, err, cause.ErrSuspect)
				require.Less(t, time.Since(began), time.Second)
				h.lose(false)
				time.Sleep(5 * time.Second)
				again, err := p.Dedicate(t.Context())
				require.NoError(t, err, "the server answers again")
				again.Return()
				conn.Return()
			})
		})
	}
}
