package nodepool

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
)

// TestOutdatedWhileDialled: a connection that was being dialled when its address may have
// got another meaning is not used.
func TestOutdatedWhileDialled(t *testing.T) {
	for name, replace := range map[string]func(*Node){"renewal": func(p *Node) { p.Renew(time.Time{}) }, "another map": (*Node).Replace} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				greeted := make(chan struct{})
				purpose := wire.Purpose{Admits: func(string, []byte) error {
					if asked.Add(1) == 1 { // in the first handshake
						<-greeted
					}
					return nil
				}}
				p, err := NewFor(Fixed{Size: 1}.settings(), simulatedServer(t, time.Millisecond), purpose, "simulated:1", nil)
				require.NoError(t, err)
				defer p.Close()
				time.Sleep(time.Second)
				replace(p)
				close(greeted)
				synctest.Wait()
				require.EqualValues(t, 1, p.figures().Closes["renewed"])
			})
		})
	}
}

// TestAdmittedAtOnce: a server that was refused is dialled when it would be admitted, and
// not only after the backoff.
func TestAdmittedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var admitted atomic.Bool
		purpose := wire.Purpose{Admits: func(string, []byte) error {
			if !admitted.Load() {
				return redislanes.ErrWrongServer
			}
			return nil
		}}
		p, err := NewFor(Fixed{Size: 1}.settings(), simulatedServer(t, time.Millisecond), purpose, "simulated:1", nil)
		require.NoError(t, err)
		defer p.Close()
		time.Sleep(time.Second)
		require.ErrorIs(t, p.Down(), redislanes.ErrWrongServer)
		p.Replace()
		time.Sleep(time.Second)
		require.ErrorIs(t, p.Down(), redislanes.ErrWrongServer)
		admitted.Store(true)
		p.Replace()
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
	})
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
				return p.figures().Closes["renewed"] >= 3
			})
			seen := calls.Load()
			until(t, "the traffic goes on", func() bool { return calls.Load() > seen+100 })
			stop()
			require.Zero(t, p.figures().DialErrors)
		})
	}
}

// TestRetireUnderTraffic: batches in flight get their replies, all others end as not sent.
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
					s := p.figures()
					return s.Open == 0 && s.Dialing == 0
				})
				require.ErrorIs(t, dedicateError(within(t, time.Second), p), cause.ErrRetired)
				stop()
				var n int64
				require.NoError(t, server.Nodes()[0].Do(within(t, 5*time.Second), &n, "GET", "k"))
				require.Equal(t, n, calls.Load(), "every INCR was acknowledged")
				require.Equal(t, []int{0, 0}, []int{p.figures().Open, p.figures().Dialing})
			}
		})
	}
}

// TestReplaceIsNotSpaced: Replace does not keep the pause between two calls of Renew.
func TestReplaceIsNotSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simulated(t, Laned{Lanes: 2}, simulatedServer(t, time.Millisecond))
		time.Sleep(time.Second)
		for i, renew := range []func(){func() { p.Renew(time.Time{}) }, func() { p.Renew(time.Time{}) }, p.Replace} {
			renew()
			time.Sleep(100 * time.Millisecond)
			require.Equal(t, []uint64{2, 2, 4}[i], p.figures().Closes["renewed"])
		}
		// A reply to what was sent before says nothing of the connections that there are now.
		require.True(t, p.Renew(time.Now().Add(-time.Second)))
		time.Sleep(100 * time.Millisecond)
		require.EqualValues(t, 4, p.figures().Closes["renewed"])
	})
}
