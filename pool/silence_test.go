package pool_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

const ms = time.Millisecond

// A network leads to a server in a bubble that answers after a millisecond.
type network struct {
	mu     sync.Mutex
	conns  int
	lost   func(conn int) bool       // whether it loses the bytes of the connection; its handshake counts
	holds  func(command string) bool // whether the server leaves the command without a reply for now
	change *sync.Cond                // of holds
	tasks  sync.WaitGroup
}

func none(string) bool        { return false }
func all(string) bool         { return true }
func writes(name string) bool { return name == "INCR" }

// pool returns a pool to the server. Nothing is lost or held for now.
func (n *network) pool(t *testing.T, c pool.Config) *pool.Pool {
	n.change, n.holds, n.lost = sync.NewCond(&n.mu), none, func(int) bool { return false }
	client, err := pool.Custom(c, lanes.Dialer{NetDial: n.dial})(t.Context(), "tcp", "simulated:1")
	require.NoError(t, err)
	p := client.(*pool.Pool)
	t.Cleanup(func() {
		n.hold(none)
		require.NoError(t, p.Close())
		n.tasks.Wait()
	})
	return p
}

// hold has the server leave the commands without a reply, and those behind them.
func (n *network) hold(which func(string) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.holds = which
	n.change.Broadcast()
}

// lose loses the bytes of some connections from now on, without closing them. It returns
// how many connections there have been.
func (n *network) lose(which func(conn int) bool) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost = which
	return n.conns
}

// flush loses the bytes of all connections that are open.
func (n *network) flush() {
	n.mu.Lock()
	open := n.conns
	n.mu.Unlock()
	n.lose(func(conn int) bool { return conn <= open })
}

// passes waits until the server may answer the command, and tells whether the reply gets
// through.
func (n *network) passes(conn int, name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.holds(name) {
		n.change.Wait()
	}
	return !n.lost(conn)
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	n.conns++
	conn := n.conns
	n.mu.Unlock()
	client, server := net.Pipe()
	type received struct {
		name string
		at   time.Time
	}
	commands := make(chan received, 1<<12)
	n.tasks.Go(func() {
		defer close(commands)
		for in := bufio.NewReader(server); ; {
			line, err := in.ReadString('\n')
			count, _ := strconv.Atoi(strings.Trim(line, "*\r\n"))
			name := ""
			for i := 0; i < 2*count && err == nil; i++ {
				if line, err = in.ReadString('\n'); i == 1 {
					name = strings.TrimSpace(line)
				}
			}
			if err != nil {
				return
			}
			commands <- received{name, time.Now()}
		}
	})
	n.tasks.Go(func() {
		defer server.Close()
		for c := range commands {
			time.Sleep(time.Until(c.at.Add(ms)))
			if n.passes(conn, c.name) {
				_, _ = io.WriteString(server, "+OK\r\n")
			}
		}
	})
	return client, nil
}

func count(p *pool.Pool, deadline time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	return p.Do(ctx, radix.Cmd(nil, "INCR", "k"))
}

// callers count with deadlines of 100 ms until the time is over, and give their errors to
// judge with the time at which the call began, since now.
func callers(p *pool.Pool, n int, length time.Duration, judge func(began time.Duration, err error)) {
	var callers sync.WaitGroup
	start := time.Now()
	for i := range n {
		callers.Go(func() {
			time.Sleep(time.Duration(i) * ms)
			for time.Since(start) < length {
				began := time.Since(start)
				judge(began, count(p, 100*ms))
				pause := max(10*ms, time.Duration(n)*ms/4) // many callers make no more calls than 40 do
				if began > 3*time.Second {
					pause *= 5 // the pool has found out by now, and only has to stay sound
				}
				time.Sleep(pause)
			}
		})
	}
	callers.Wait()
}

var silentKinds = map[string]struct {
	config  pool.Config
	callers int
}{
	"laned, 1 caller":         {pool.Laned{}, 1},
	"laned, 8 callers":        {pool.Laned{}, 8},
	"laned, 200 callers":      {pool.Laned{}, 200},
	"laned, in turn":          {pool.Laned{Strategy: lanes.RoundRobin}, 8},
	"laned, one lane":         {pool.Laned{Lanes: 1}, 8},
	"fixed, more than in use": {pool.Fixed{Size: 50}, 8},
	"fixed, all in use":       {pool.Fixed{Size: 8}, 8},
	"fixed, one connection":   {pool.Fixed{Size: 1}, 1},
	"adaptive":                {pool.Adaptive{Min: 2, Max: 50}, 8},
}

// TestSilentDeathOfAllConnections: the network forgets all connections without a word, as
// where a NAT is replaced, and new ones work. No call fails that begins when the calls
// that were under way have run into their deadlines.
func TestSilentDeathOfAllConnections(t *testing.T) {
	t.Parallel()
	for name, c := range silentKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := new(network)
				p := n.pool(t, c.config)
				const death = time.Second
				time.AfterFunc(death, n.flush)
				callers(p, c.callers, 15*time.Second, func(began time.Duration, err error) {
					if after := began - death; err != nil && (after < -100*ms || after >= 101*ms) {
						t.Errorf("a call that began %v after the death failed: %v", after, err)
					}
					if s := p.Stats(); s.Open > 2*s.Size {
						t.Errorf("%d connections are open, Size is %d", s.Open, s.Size)
					}
				})
				s := p.Stats()
				require.Zero(t, s.Downs)
				require.NotZero(t, s.Closes[redislanes.CloseStalled], "after PauseTimeout")
				require.LessOrEqual(t, s.Open, s.Size)
			})
		})
	}
}

// TestSilentDeathOfOneConnection: the others answer their PINGs and stay.
func TestSilentDeathOfOneConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]pool.Config{"laned": pool.Laned{Lanes: 3}, "fixed": pool.Fixed{Size: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := new(network)
				p := n.pool(t, c)
				time.Sleep(time.Second)
				writing := 0 // the connection over which the next call goes
				n.lose(func(conn int) bool { writing = conn; return false })
				require.NoError(t, count(p, time.Second))
				lost := writing
				n.lose(func(conn int) bool { return conn == lost })
				require.ErrorIs(t, count(p, 100*ms), redislanes.ErrUnknownOutcome)
				for range 100 {
					require.NoError(t, count(p, 100*ms))
					time.Sleep(10 * ms)
				}
				s := p.Stats()
				require.EqualValues(t, 4, s.Dials, "one more")
				require.Empty(t, s.Closes)
				time.Sleep(10 * time.Second)
				s = p.Stats()
				require.Equal(t, 3, s.Open)
				require.Equal(t, map[string]uint64{redislanes.CloseStalled: 1}, s.Closes)
			})
		})
	}
}

// TestPauseIsBounded: the server makes writers wait for five seconds, as in a graceful
// failover, and answers everything else. Those who have the time get their replies,
// however many others run into their deadlines; readers are served, and the pool has
// twice its connections at most. They leave afterwards.
func TestPauseIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range silentKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := new(network)
				p := n.pool(t, c.config)
				require.NoError(t, count(p, time.Second))
				time.Sleep(time.Second)
				n.hold(writes)
				time.AfterFunc(5*time.Second, func() { n.hold(none) })
				patient := make(chan error, 1)
				go func() { patient <- count(p, time.Minute) }()
				callers(p, c.callers, 6*time.Second, func(began time.Duration, err error) {
					if s := p.Stats(); s.Open > 2*s.Size {
						t.Errorf("%d connections are open, Size is %d", s.Open, s.Size)
					}
					if began > 5*time.Second+50*ms && err != nil {
						t.Errorf("a call that began %v after the pause failed: %v", began-5*time.Second, err)
					}
				})
				require.NoError(t, <-patient)
				time.Sleep(time.Minute)
				s := p.Stats()
				require.LessOrEqual(t, s.Open, s.Size)
				require.Zero(t, s.Downs)
				require.Zero(t, s.Closes[redislanes.CloseStalled])
			})
		})
	}
}

// TestNoMoreUnknownOutcomes: the server freezes, and new connections are not answered
// either. Once a connection is in doubt, commands are not sent over those of which nobody
// knows whether they work.
func TestNoMoreUnknownOutcomes(t *testing.T) {
	t.Parallel()
	for name, c := range silentKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := new(network)
				p := n.pool(t, c.config)
				const freeze = time.Second
				time.AfterFunc(freeze, func() { n.hold(all) })
				callers(p, c.callers, 2500*ms, func(began time.Duration, err error) {
					switch after := began - freeze; {
					case after < -100*ms:
						require.NoError(t, err)
					case after > 101*ms:
						require.ErrorIs(t, err, redislanes.ErrNotSent)
					}
				})
				require.EqualValues(t, 1, p.Stats().Downs)
				require.Empty(t, p.Stats().Closes)
				n.hold(none)
				time.Sleep(100 * ms)
				require.NoError(t, count(p, 100*ms))
			})
		})
	}
}

// TestFailFastWhileSilent: a caller waits for the connection that replaces a silent one,
// and is refused where there is to be none.
func TestFailFastWhileSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := new(network)
		p := n.pool(t, pool.Fixed{Size: 1, Options: pool.Options{MaxWaiters: -1}})
		require.NoError(t, count(p, time.Second))
		n.hold(writes)
		for range 2 {
			require.ErrorIs(t, count(p, 100*ms), redislanes.ErrUnknownOutcome)
		}
		require.ErrorIs(t, count(p, 100*ms), redislanes.ErrExhausted)
	})
}
