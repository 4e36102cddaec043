package pool_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

const ms = time.Millisecond

// A network leads to a server in a bubble that answers after a millisecond.
type network struct {
	mu    sync.Mutex
	conns int
	lost  func(conn int) bool // whether it loses the bytes of the connection; its handshake counts
	slow  func(conn int, reply string, write func(string))
	tasks sync.WaitGroup
}

// pool returns a pool to the server. Nothing is lost for now.
func (n *network) pool(t *testing.T, c pool.Config) *pool.Pool {
	n.lost = func(int) bool { return false }
	client, err := pool.Custom(c, lanes.Dialer{NetDial: n.dial})(t.Context(), "tcp", "simulated:1")
	require.NoError(t, err)
	p := client.(*pool.Pool)
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		n.tasks.Wait()
	})
	return p
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

// sicken makes replies on the connection slow from now on.
func (n *network) sicken(conn int, slow func(reply string, write func(string))) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow = func(c int, reply string, write func(string)) {
		if c == conn {
			slow(reply, write)
		} else {
			write(reply)
		}
	}
}

func (n *network) reply(conn int, write func(string)) {
	n.mu.Lock()
	slow := n.slow
	n.mu.Unlock()
	if slow == nil {
		write("+OK\r\n")
	} else {
		slow(conn, "+OK\r\n", write)
	}
}

// used returns the connection over which a call goes now.
func (n *network) used(t *testing.T, p *pool.Pool) (conn int) {
	n.lose(func(c int) bool { conn = c; return false })
	require.NoError(t, count(p, time.Second))
	n.lose(func(int) bool { return false })
	return conn
}

// passes tells whether a reply gets through.
func (n *network) passes(conn int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.lost(conn)
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	n.conns++
	conn := n.conns
	n.mu.Unlock()
	client, server := net.Pipe()
	commands := make(chan time.Time, 1<<12) // when they came
	n.tasks.Go(func() {
		defer close(commands)
		for in := bufio.NewReader(server); ; {
			line, err := in.ReadString('\n')
			count, _ := strconv.Atoi(strings.Trim(line, "*\r\n"))
			for i := 0; i < 2*count && err == nil; i++ {
				_, err = in.ReadString('\n')
			}
			if err != nil {
				return
			}
			commands <- time.Now()
		}
	})
	n.tasks.Go(func() {
		defer server.Close()
		for at := range commands {
			time.Sleep(time.Until(at.Add(ms)))
			if n.passes(conn) {
				n.reply(conn, func(s string) { _, _ = io.WriteString(server, s) })
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
	"laned, 200 callers":      {pool.Laned{}, 200},
	"laned, in turn":          {pool.Laned{Strategy: lanes.RoundRobin}, 8},
	"laned, one lane":         {pool.Laned{Lanes: 1}, 8},
	"fixed, more than in use": {pool.Fixed{Size: 50}, 8},
	"fixed, one connection":   {pool.Fixed{Size: 1}, 1},
	"adaptive":                {pool.Adaptive{Min: 2, Max: 50}, 8},
}

// TestSilentDeathOfAllConnections: the network forgets all connections without a word, as
// where a NAT is replaced, and new ones work. No call fails that begins 0.55 s later.
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
					if after := began - death; err != nil && (after < -100*ms || after >= 550*ms) {
						t.Errorf("a call that began %v after the death failed: %v", after, err)
					}
					if s := p.Stats(); s.Open > 2*s.Size {
						t.Errorf("%d connections are open, Size is %d", s.Open, s.Size)
					}
				})
				time.Sleep(10 * time.Second)
				s := p.Stats()
				require.Zero(t, s.Downs)
				require.NotZero(t, s.Closes["stalled"])
				require.LessOrEqual(t, s.Open, s.Size)
			})
		})
	}
}

// sicknesses are what happens to one connection while all others are well.
var sicknesses = map[string]func(reply string, write func(string)){
	"dead": func(string, func(string)) {},
	"late": func(reply string, write func(string)) { time.AfterFunc(2*time.Second, func() { write(reply) }) },
	"trickle": func(reply string, write func(string)) {
		for _, b := range []byte(reply) {
			time.Sleep(100 * ms)
			write(string(b))
		}
	},
}

// TestSickConnection: at most five calls fail, all of them in the first three seconds, and the connection is replaced.
func TestSickConnection(t *testing.T) {
	t.Parallel()
	kinds := map[string]pool.Config{
		"laned": pool.Laned{}, "least used": pool.Laned{Strategy: lanes.LeastUsed}, "round robin": pool.Laned{Strategy: lanes.RoundRobin},
		"fixed": pool.Fixed{Size: 4}, "adaptive": pool.Adaptive{Min: 2, Max: 4},
	}
	for name, c := range kinds {
		for sickness, slow := range sicknesses {
			for _, rate := range []int{20, 200} {
				t.Run(fmt.Sprintf("%s, %s, %d calls/s", name, sickness, rate), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						n := new(network)
						p := n.pool(t, c)
						time.Sleep(time.Second)
						before := p.Stats()
						n.sicken(n.used(t, p), slow)
						failed, late := arrivals(p, rate, 20*time.Second)
						require.LessOrEqual(t, failed, int64(5))
						require.Zero(t, late, "failed after three seconds")
						s := p.Stats()
						require.Zero(t, s.Downs)
						require.LessOrEqual(t, s.Dials, before.Dials+3)
						require.NotEmpty(t, s.Closes, "it was replaced")
						require.LessOrEqual(t, s.Open, s.Size)
					})
				})
			}
		}
	}
}

// arrivals makes so many calls a second with deadlines of 100 ms. It returns how many failed in the
// first three seconds and later.
func arrivals(p *pool.Pool, rate int, length time.Duration) (failed, late int64) {
	var early, then atomic.Int64
	var calls sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < length; <-tick.C {
		calls.Go(func() {
			of := &early
			if time.Since(began) > 3*time.Second {
				of = &then
			}
			if count(p, 100*ms) != nil {
				of.Add(1)
			}
		})
	}
	calls.Wait()
	return early.Load(), then.Load()
}
