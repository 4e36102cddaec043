package nodepool

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/redistest"
)

// pausedServer is a simulated server that makes writers wait until resume is
// called, as Redis does in a graceful failover, and answers everything else after
// a millisecond. The time is that of a synctest bubble: how busy the machine is
// must not decide what is silence.
func pausedServer(t *testing.T) (d lanes.Dialer, resume func()) {
	var tasks sync.WaitGroup
	t.Cleanup(tasks.Wait)
	gate := make(chan struct{})
	d.NetDial = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		tasks.Go(func() {
			defer server.Close()
			for in := bufio.NewReader(server); ; {
				name, err := readCommand(in)
				if name == "INCR" {
					<-gate
				}
				time.Sleep(time.Millisecond)
				if err == nil {
					_, err = io.WriteString(server, "+OK\r\n")
				}
				if err != nil {
					return
				}
			}
		})
		return client, nil
	}
	return d, sync.OnceFunc(func() { close(gate) })
}

// pausedKinds have all their connections in flight when there are two callers.
func pausedKinds(pause time.Duration) map[string]Config {
	o := Options{PauseTimeout: pause, PingEvery: -1}
	return map[string]Config{
		"fixed": Fixed{Size: 2, Options: o},
		"laned": Laned{Lanes: 2, Strategy: lanes.RoundRobin, Options: o},
	}
}

// TestPausedServerIsNotStalled: a server that lets writers wait, as in a
// graceful failover, still answers others. What is in flight must get its reply
// in the end.
func TestPausedServerIsNotStalled(t *testing.T) {
	t.Parallel()
	for name, kind := range pausedKinds(time.Hour) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, resume := pausedServer(t)
				defer resume()
				p := simulated(t, kind, d)
				require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
				done := make(chan error, 2)
				for range cap(done) {
					go func() { done <- p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")) }()
				}
				for range 20 {
					time.Sleep(p.main.StallTimeout)
					s := p.figures()
					require.Equal(t, 2, s.InFlight)
					require.False(t, s.Down)
				}
				resume()
				for range cap(done) {
					require.NoError(t, <-done)
				}
				require.Zero(t, p.figures().Closes[redislanes.CloseStalled])
				require.Zero(t, p.figures().Downs)
			})
		})
	}
}

// TestPauseTimeout: in the end a silent connection is given up, but the server
// does not count as down.
func TestPauseTimeout(t *testing.T) {
	t.Parallel()
	for name, kind := range pausedKinds(20 * time.Second) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, resume := pausedServer(t)
				defer resume()
				p := simulated(t, kind, d)
				require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
				began := time.Now()
				err := p.Do(context.Background(), radix.Cmd(nil, "INCR", "k"))
				require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
				require.ErrorIs(t, err, cause.ErrStalled)
				require.InDelta(t, 20, time.Since(began).Seconds(), 2, "PauseTimeout, and up to two looks")
				require.False(t, p.figures().Down)
				require.NoError(t, p.Do(t.Context(), radix.Cmd(nil, "PING")))
				require.EqualValues(t, 1, p.figures().Closes[redislanes.CloseStalled])
			})
		})
	}
}

// TestSilentConnection: one connection gets nothing, because of the network,
// while the server answers on the other one.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	proxy := redistest.StartProxy(t, server.Addrs()[0])
	p, err := New(Laned{Lanes: 1, Options: Options{StallTimeout: 100 * time.Millisecond, PauseTimeout: 300 * time.Millisecond}},
		lanes.Dialer{}, proxy.Addr(), nil)
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Do(context.Background(), radix.Cmd(nil, "PING")))
	proxy.Stall(redistest.ToClient)
	require.ErrorIs(t, p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")), cause.ErrStalled)
	require.ErrorIs(t, p.Do(context.Background(), radix.Cmd(nil, "INCR", "k")), redislanes.ErrDown)
	proxy.Flow(redistest.ToClient)
	until(t, "it works again", func() bool { return p.Do(context.Background(), radix.Cmd(nil, "PING")) == nil })
	require.Equal(t, "1", get(t, p, "k"))
}

// TestEachSilenceIsAsked: a question of an earlier silence that was lost on its way
// does not stand in for the one of this silence.
func TestEachSilenceIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(holder)
		p := h.pool(t, Laned{Lanes: 1})
		silence := func(length time.Duration) {
			h.hold(writes)
			done := make(chan error, 1)
			go func() { _, err := incr(p, time.Minute); done <- err }()
			time.Sleep(length)
			h.hold(nothing)
			require.NoError(t, <-done)
		}
		silence(0)
		h.lose(true)
		silence(health.MinSilence + 100*ms)
		h.lose(false)
		silence(time.Second)
		require.Zero(t, p.figures().Downs, "it answers elsewhere")
	})
}

// leaves has the connection leave on which a batch is in flight: now, or when it has its reply.
func leaves(p *Node, why error, now bool) {
	p.main.mu.Lock()
	defer p.main.mu.Unlock()
	p.main.leaveLocked(p.main.members[slices.IndexFunc(p.main.members, func(m *member) bool { return m.lane.InFlight() > 0 })], why, now)
}

// TestQuestionLeavesWithItsSilence: nor does it if the earlier silence ended because the
// connection did.
func TestQuestionLeavesWithItsSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(holder)
		p := h.pool(t, Fixed{Size: 2})
		other, err := p.Dedicate(t.Context()) // has no PING that would be answered
		require.NoError(t, err)
		_, err = incr(p, time.Second)
		require.NoError(t, err)
		time.Sleep(time.Second)
		h.hold(writes)
		h.lose(true)
		done := make(chan error, 2)
		write := func() { _, err := incr(p, time.Minute); done <- err }
		go write()
		time.Sleep(health.MinSilence + 100*ms)
		leaves(p, io.ErrUnexpectedEOF, true)
		require.ErrorIs(t, <-done, redislanes.ErrUnknownOutcome)
		h.lose(false)
		time.Sleep(100 * ms)
		other.Return()
		go write()
		time.Sleep(time.Second)
		h.hold(nothing)
		require.NoError(t, <-done)
		require.Zero(t, p.figures().Downs, "it answers elsewhere")
	})
}

// TestLastBytesAreHeard: the server's last reply on a connection, which ends behind it and
// before anyone looks, ends a suspicion as any byte does.
func TestLastBytesAreHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(holder)
		p := h.pool(t, Laned{Lanes: 2})
		_, err := incr(p, time.Second)
		require.NoError(t, err)
		time.Sleep(time.Second)
		h.hold(everything)
		h.lose(true)
		done := make(chan error, 1)
		go func() { _, err := incr(p, time.Minute); done <- err }()
		time.Sleep(50 * ms)
		leaves(p, errIdle, false)
		time.Sleep(2*health.MinSilence + 50*ms)
		require.ErrorIs(t, p.Down(), cause.ErrSuspect)
		h.hold(nothing)
		require.NoError(t, <-done)
		synctest.Wait()
		require.NoError(t, p.Down())
		_, err = incr(p, time.Second)
		require.NoError(t, err)
	})
}

// TestOnePauseIsNothingUsual: writes wait for five seconds, as in a graceful failover, on
// all connections at once, which is one event. A server that falls silent later is suspect
// as soon as any other.
func TestOnePauseIsNothingUsual(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]Config{
		"fixed": Fixed{Size: 10}, "laned": Laned{Lanes: 10, Strategy: lanes.RoundRobin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := new(holder)
				p := h.pool(t, kind)
				_, err := incr(p, time.Second)
				require.NoError(t, err)
				time.Sleep(time.Second)
				h.hold(writes)
				var writers sync.WaitGroup
				for range 10 {
					writers.Go(func() { _, _ = incr(p, time.Minute) })
				}
				time.Sleep(5 * time.Second)
				h.hold(nothing)
				writers.Wait()
				time.Sleep(time.Second)
				h.hold(everything)
				_, err = incr(p, 2*health.MinSilence+100*ms)
				require.Error(t, err)
				require.True(t, p.figures().Suspect)
			})
		})
	}
}
