package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
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

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// A tokenServer takes tokens for a short time after they were issued, and cuts connections
// some time after they were authenticated, commands in flight or not: as ElastiCache does
// with IAM, and Azure with Entra ID. A token is the time at which it was issued.
type tokenServer struct {
	valid, lasts time.Duration
	refuses      atomic.Bool
	auths, cuts  atomic.Int64
	asked        atomic.Int64                                // how often the client has asked for a token
	wrong        atomic.Pointer[func(context.Context) error] // what goes wrong with that; nil: nothing
}

func (s *tokenServer) credentials(ctx context.Context) (username, password string, err error) {
	s.asked.Add(1)
	if wrong := s.wrong.Load(); wrong != nil {
		err = (*wrong)(ctx)
	}
	return "app", strconv.FormatInt(time.Now().UnixNano(), 10), err
}

func (s *tokenServer) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go s.serve(theirs)
	return ours, nil
}

func (s *tokenServer) serve(conn net.Conn) {
	defer conn.Close()
	cut := time.AfterFunc(s.lasts, func() {
		s.cuts.Add(1)
		_ = conn.Close()
	})
	defer cut.Stop()
	in := bufio.NewReader(conn)
	for {
		cmd, err := readCommand(in)
		if err != nil {
			return
		}
		reply := s.reply(cmd)
		if last := len(cmd) - 1; (cmd[0] == "AUTH" || cmd[0] == "HELLO") && reply[0] != '-' {
			issued, _ := strconv.ParseInt(cmd[last], 10, 64)
			if reply = "-WRONGPASS invalid username-password pair\r\n"; time.Since(time.Unix(0, issued)) <= s.valid && !s.refuses.Load() {
				s.auths.Add(1)
				cut.Reset(s.lasts)
				if reply = "+OK\r\n"; cmd[0] == "HELLO" {
					reply = "%1\r\n$4\r\nmode\r\n$7\r\ncluster\r\n"
				}
			}
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

func (s *tokenServer) reply(cmd []string) string {
	switch strings.ToUpper(cmd[0]) {
	case "CLUSTER":
		if strings.EqualFold(cmd[1], "SLOTS") {
			return slotMap(nodeA)
		}
		return "-ERR unknown subcommand\r\n"
	case "INCR", "KEYS", "BLPOP":
		time.Sleep(3 * time.Millisecond)
		return one
	}
	return "+OK\r\n"
}

// An expiry is a client of a tokenServer, under load.
type expiry struct {
	*tokenServer
	client *cluster.Client
	log    *syncLog
	holds  time.Duration // how long a dedicated connection is kept
	rests  time.Duration // of callers behind each call
	lanes  bool          // only: connections to be lent come and go with the load
	failed atomic.Int64
	first  atomic.Pointer[error]
}

func newExpiry(t *testing.T, c cluster.Config, lasts time.Duration) *expiry {
	t.Helper()
	e := &expiry{tokenServer: &tokenServer{valid: 61 * time.Second, lasts: lasts}, log: new(syncLog),
		holds: 3 * time.Minute, rests: 5 * time.Second}
	c.Dialer.NetDial, c.Dialer.Credentials = e.dial, e.credentials
	c.RefreshEvery, c.Logger = -1, slog.New(slog.NewTextHandler(e.log, nil))
	client, err := c.New(t.Context(), []string{nodeA})
	require.NoError(t, err)
	e.client = client
	return e
}

// call lets callers call for some time, each in its own way, some of them seldom.
func (e *expiry) call(t *testing.T, lasts time.Duration) {
	t.Helper()
	actions := []func() radix.Action{
		func() radix.Action { return radix.Cmd(nil, "INCR", "k") },
		func() radix.Action { return radix.Cmd(nil, "KEYS", "*") }, // slow
		func() radix.Action { return radix.Cmd(nil, "BLPOP", "k", "1") },
		func() radix.Action {
			return radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
				time.Sleep(e.holds)
				return conn.Do(ctx, radix.Cmd(nil, "INCR", "k"))
			})
		},
	}
	if e.lanes {
		actions = actions[:2]
	}
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	var callers sync.WaitGroup
	for i := range 3 * len(actions) {
		callers.Go(func() {
			for ctx.Err() == nil {
				if err := e.client.Do(soon(t, e.holds+5*time.Second), actions[i%len(actions)]()); err != nil {
					e.failed.Add(1)
					e.first.CompareAndSwap(nil, &err)
				}
				time.Sleep(time.Duration(1+50*(i/len(actions))) * e.rests)
			}
		})
	}
	callers.Wait()
}

func (e *expiry) failedNone(t *testing.T) {
	t.Helper()
	if err := e.first.Load(); err != nil {
		t.Fatalf("%d calls failed, first: %v", e.failed.Load(), *err)
	}
}

// A syncLog keeps what is logged.
type syncLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *syncLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *syncLog) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

var reauthKinds = map[string]cluster.Config{
	"laned":    {},
	"fixed":    {Pool: pool.Fixed{Size: 8}},
	"failfast": {Pool: pool.Fixed{Size: 24, Options: pool.Options{FailFast: true}}},
	"adaptive": {Pool: pool.Adaptive{Min: 1, Max: 16}},
	"RESP3":    {Dialer: lanes.Dialer{Protocol: 3}},
}

// TestConnectionsOutliveTheirTokens: with ReauthEvery, a server that cuts connections whose
// token has expired cuts none, and no call fails.
func TestConnectionsOutliveTheirTokens(t *testing.T) {
	for name, c := range reauthKinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.Dialer.ReauthEvery = 10 * time.Minute
				e := newExpiry(t, c, 20*time.Minute)
				defer e.client.Close()
				e.call(t, 30*time.Minute)
				e.failedNone(t)
				s := e.client.Stats().Nodes[0].Pool
				require.Zero(t, s.Closes[redislanes.CloseByServer], s.Closes)
				require.Zero(t, s.Closes[redislanes.CloseIOFailure], s.Closes)
				asked, auths := e.asked.Load(), e.auths.Load()
				time.Sleep(50 * time.Minute)
				periods := e.asked.Load() - asked
				require.True(t, 4 <= periods && periods <= 7, "%d questions in five periods", periods)
				require.GreaterOrEqual(t, e.auths.Load()-auths, 4*int64(e.client.Stats().Nodes[0].Pool.Open))
				require.Zero(t, e.log.count("authent"))
			})
		})
	}
}

// TestBusyConnectionsOutliveTheirTokens: connections that are never idle are authenticated
// between two callers.
func TestBusyConnectionsOutliveTheirTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster.Config{Pool: pool.Fixed{Size: 2}, Dialer: lanes.Dialer{ReauthEvery: time.Second}}
		e := newExpiry(t, c, 5*time.Second)
		defer e.client.Close()
		e.rests, e.lanes = 0, true
		e.call(t, 15*time.Second)
		e.failedNone(t)
		require.Zero(t, e.client.Stats().Nodes[0].Pool.Closes[redislanes.CloseByServer])
	})
}

// TestTokensThatExpireCutConnections: without ReauthEvery.
func TestTokensThatExpireCutConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newExpiry(t, cluster.Config{}, 20*time.Minute)
		defer e.client.Close()
		e.call(t, 30*time.Minute)
		require.NotZero(t, e.cuts.Load())
	})
}

// TestReauthThatFails: whatever goes wrong with the credentials fails no call, closes no
// connection, and is logged once.
func TestReauthThatFails(t *testing.T) {
	for what, wrong := range map[string]func(e *expiry, on bool){
		"refused": func(e *expiry, on bool) { e.refuses.Store(on) },
		"error": func(e *expiry, on bool) {
			e.fail(on, func(context.Context) error { return errors.New("no token today") })
		},
		"panic": func(e *expiry, on bool) { e.fail(on, func(context.Context) error { panic("boom") }) },
		"hangs": func(e *expiry, on bool) {
			e.fail(on, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		},
		"hangs on": func(e *expiry, on bool) {
			e.fail(on, func(context.Context) error { time.Sleep(7 * time.Second); return nil })
		},
	} {
		for _, name := range []string{"laned", "failfast"} {
			c := reauthKinds[name]
			t.Run(what+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c.Dialer.ReauthEvery = 4 * time.Second
					e := newExpiry(t, c, 20*time.Minute)
					defer e.client.Close()
					e.holds, e.rests, e.lanes = time.Second, 200*time.Millisecond, name == "laned"
					e.call(t, time.Second) // all connections are there
					wrong(e, true)
					e.call(t, 15*time.Second)
					time.Sleep(15 * time.Second)
					require.Equal(t, 1, e.log.count("re-authentication failed"), e.log.buf.String())
					require.Zero(t, e.log.count("authenticated again"))
					auths, asked := e.auths.Load(), e.asked.Load()
					require.Less(t, asked, int64(100))
					wrong(e, false)
					e.call(t, 20*time.Second)
					e.failedNone(t)
					require.Equal(t, 1, e.log.count("authenticated again"), e.log.buf.String())
					require.Greater(t, e.auths.Load(), auths)
					s := e.client.Stats().Nodes[0].Pool
					require.Zero(t, s.Closes[redislanes.CloseByServer]+s.Closes[redislanes.CloseIOFailure]+s.Closes[redislanes.CloseUnclean], s.Closes)
					wrong(e, true)
					time.Sleep(5 * time.Second)
					began := time.Now()
					require.NoError(t, e.client.Close())
					require.Less(t, time.Since(began), 5*time.Second)
					time.Sleep(time.Minute) // for functions that hang on
				})
			})
		}
	}
}

// fail makes the function that is asked for credentials go wrong.
func (e *expiry) fail(on bool, how func(context.Context) error) {
	if e.wrong.Store(nil); on {
		e.wrong.Store(&how)
	}
}
