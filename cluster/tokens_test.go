package cluster_test

import (
	"bufio"
	"context"
	"errors"
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
	fails        atomic.Bool // there is no token
	auths        atomic.Int64
	asked        atomic.Int64 // how often the client has asked for a token
}

func (s *tokenServer) credentials(context.Context) (username, password string, err error) {
	s.asked.Add(1)
	if s.fails.Load() {
		err = errors.New("no token today")
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
	cut := time.AfterFunc(s.lasts, func() { _ = conn.Close() })
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
	holds  time.Duration // how long a dedicated connection is kept
	rests  time.Duration // of callers behind each call
	lanes  bool          // only: dedicated connections come and go with the load
	failed atomic.Int64
	first  atomic.Pointer[error]
}

func newExpiry(t *testing.T, c cluster.Config, lasts time.Duration) *expiry {
	t.Helper()
	e := &expiry{tokenServer: &tokenServer{valid: 61 * time.Second, lasts: lasts},
		holds: 3 * time.Minute, rests: 5 * time.Second}
	c.Dialer.NetDial, c.Dialer.Credentials = e.dial, e.credentials
	c.RefreshEvery = -1
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

// aging returns clients of all kinds, with connections of some age at most.
func aging(age time.Duration) map[string]cluster.Config {
	o, failFast := pool.Options{MaxAge: age}, pool.Options{MaxAge: age, MaxWaiters: -1}
	return map[string]cluster.Config{
		"laned":    {Pool: pool.Laned{Options: o}},
		"fixed":    {Pool: pool.Fixed{Size: 8, Options: o}},
		"failfast": {Pool: pool.Fixed{Size: 24, Options: failFast}},
		"adaptive": {Pool: pool.Adaptive{Min: 1, Max: 16, Options: o}},
		"RESP3":    {Pool: pool.Laned{Options: o}, Dialer: lanes.Dialer{Protocol: 3}},
	}
}

// TestNoConnectionOutlivesItsToken: a server cuts each connection when its token expires. With a
// MaxAge below the life of a token it never has to, and no call fails.
func TestNoConnectionOutlivesItsToken(t *testing.T) {
	for name, c := range aging(10 * time.Minute) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newExpiry(t, c, 20*time.Minute)
				defer e.client.Close()
				e.call(t, 30*time.Minute)
				e.failedNone(t)
				s := e.client.Stats().Nodes[0].Pool
				require.Zero(t, s.Closes["server"], s.Closes)
				require.Zero(t, s.Closes["io"], s.Closes)
				require.NotZero(t, s.Closes["aged"], s.Closes)
			})
		})
	}
}

// TestCredentialsThatFail: credentials that are refused, or cannot be had, fail no call. The connections stay.
func TestCredentialsThatFail(t *testing.T) {
	for what, wrong := range map[string]func(e *expiry, on bool){
		"refused": func(e *expiry, on bool) { e.refuses.Store(on) },
		"error":   func(e *expiry, on bool) { e.fails.Store(on) },
	} {
		for _, name := range []string{"laned", "failfast"} {
			c := aging(4 * time.Second)[name]
			t.Run(what+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := newExpiry(t, c, 20*time.Minute)
					defer e.client.Close()
					e.holds, e.rests, e.lanes = time.Second, 200*time.Millisecond, name == "laned"
					e.call(t, time.Second) // all connections are there
					asked, auths := e.asked.Load(), e.auths.Load()
					wrong(e, true)
					e.call(t, 15*time.Second)
					require.Less(t, e.asked.Load()-asked, int64(200), "two pools, about two dials in a second each")
					wrong(e, false)
					e.call(t, 20*time.Second)
					e.failedNone(t)
					require.Greater(t, e.auths.Load(), auths)
					s := e.client.Stats().Nodes[0].Pool
					require.Zero(t, s.Closes["server"]+s.Closes["io"]+s.Closes["unclean"], s.Closes)
				})
			})
		}
	}
}
