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
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

// A slowServer answers INCR after some time, BLPOP never, and all else at once.
type slowServer struct{ takes time.Duration }

func (s slowServer) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go s.serve(theirs)
	return ours, nil
}

func (s slowServer) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		cmd, err := command(in)
		if err != nil {
			return
		}
		reply := "+OK\r\n"
		switch cmd[0] {
		case "INCR":
			time.Sleep(s.takes)
			reply = ":1\r\n"
		case "BLPOP":
			_, _ = io.Copy(io.Discard, in)
			return
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// command reads an array of bulk strings.
func command(in *bufio.Reader) (cmd []string, err error) {
	line, err := in.ReadString('\n')
	n, _ := strconv.Atoi(strings.Trim(line, "*\r\n"))
	for i := 0; i < 2*n && err == nil; i++ {
		if line, err = in.ReadString('\n'); i%2 == 1 {
			cmd = append(cmd, strings.TrimSpace(line))
		}
	}
	if err == nil && len(cmd) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return cmd, err
}

func (s slowServer) pool(t *testing.T, c pool.Config) *pool.Pool {
	t.Helper()
	client, err := pool.Custom(c, lanes.Dialer{NetDial: s.dial})(t.Context(), "tcp", "slow:1")
	require.NoError(t, err)
	return client.(*pool.Pool)
}

// timed returns how long Close took.
func timed(t *testing.T, p *pool.Pool) time.Duration {
	t.Helper()
	began := time.Now()
	require.NoError(t, p.Close())
	return time.Since(began)
}

var customKinds = map[string]pool.Config{
	"laned":    pool.Laned{Lanes: 1, MaxInFlight: 4},
	"fixed":    pool.Fixed{Size: 2},
	"adaptive": pool.Adaptive{Max: 2},
}

func incr() radix.Action { return radix.Cmd(nil, "INCR", "k") }

// TestCloseLetsCallsEnd: calls in flight and calls that wait for a connection get their
// replies, and so do those that come a moment after Close has begun.
func TestCloseLetsCallsEnd(t *testing.T) {
	alone := func() radix.Action {
		return radix.WithConn("k", func(ctx context.Context, conn radix.Conn) error {
			time.Sleep(50 * time.Millisecond) // between two commands
			return conn.Do(ctx, incr())
		})
	}
	for name, kind := range customKinds {
		for what, action := range map[string]func() radix.Action{"shared": incr, "alone": alone} {
			t.Run(name+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := slowServer{takes: 50 * time.Millisecond}.pool(t, kind)
					results := make(chan error)
					const before, late = 8, 2
					for range before {
						go func() { results <- p.Do(t.Context(), action()) }()
					}
					synctest.Wait()
					closed := make(chan time.Duration)
					go func() { closed <- timed(t, p) }()
					synctest.Wait()
					for range late {
						go func() { results <- p.Do(t.Context(), incr()) }()
					}
					time.Sleep(20 * time.Millisecond)
					err := p.Do(t.Context(), incr())
					require.ErrorIs(t, err, redislanes.ErrClosed)
					require.ErrorIs(t, err, redislanes.ErrNotSent)
					for range before + late {
						require.NoError(t, <-results)
					}
					require.Less(t, <-closed, 3*time.Second) // pipes take a second to end
					require.ErrorIs(t, p.Do(t.Context(), incr()), redislanes.ErrClosed)
					require.Less(t, timed(t, p), 20*time.Millisecond, "closing again does nothing")
				})
			})
		}
	}
}

// TestCloseIsBounded: Close does not wait for ever.
func TestCloseIsBounded(t *testing.T) {
	ping := func() radix.Action { return radix.Cmd(nil, "PING") }
	pop := func() radix.Action { return radix.Cmd(nil, "BLPOP", "k", "0") }
	for name, kind := range customKinds {
		for what, c := range map[string]struct {
			action func() radix.Action // radix uses one again after its use
			most   time.Duration       // besides the second that pipes take to end
		}{
			"nothing":    {ping, 20 * time.Millisecond},
			"a reply":    {incr, time.Second},
			"an element": {pop, time.Second},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := slowServer{takes: time.Hour}.pool(t, kind)
					result := make(chan error, 1)
					go func() { result <- p.Do(t.Context(), c.action()) }()
					time.Sleep(100 * time.Millisecond)
					if what == "nothing" {
						require.NoError(t, <-result)
					}
					took := timed(t, p)
					require.LessOrEqual(t, took, c.most+1100*time.Millisecond)
					if what == "nothing" {
						return
					}
					err := <-result
					require.ErrorIs(t, err, redislanes.ErrClosed)
					require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
					time.Sleep(time.Hour) // until the server notices, too
				})
			})
		}
	}
}

// A sentinelStub is a Sentinel that names a primary.
type sentinelStub struct {
	mu      sync.Mutex // guards what follows
	primary string
	events  []chan<- radix.PubSubMessage
}

func (s *sentinelStub) dial(_ context.Context, network, addr string) (radix.Conn, error) {
	conn, events := radix.NewPubSubConnStub(network, addr, func(_ context.Context, args []string) any {
		if args[1] != "MASTER" {
			return []map[string]string{}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		host, port, _ := net.SplitHostPort(s.primary)
		return map[string]string{"ip": host, "port": port}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events)
	return conn, nil
}

// name makes the Sentinel name another primary.
func (s *sentinelStub) name(primary string) {
	s.mu.Lock()
	s.primary = primary
	events := s.events
	s.mu.Unlock()
	for _, ch := range events {
		select {
		case ch <- radix.PubSubMessage{Channel: "switch-master"}:
		case <-time.After(time.Second): // of a connection that is no more
		}
	}
}

// A named client has the address that the Sentinel knows it by.
type named struct {
	radix.Client
	addr string
}

func (n named) Addr() net.Addr {
	tcp, _ := net.ResolveTCPAddr("tcp", n.addr)
	return tcp
}

// TestSentinelOfRadixFailsNoCall: radix's own Sentinel closes the pool of the old primary
// while callers use it.
func TestSentinelOfRadixFailsNoCall(t *testing.T) {
	for name, kind := range customKinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := slowServer{takes: time.Millisecond}
				stub := &sentinelStub{primary: "10.0.0.1:1"}
				sentinel, err := radix.SentinelConfig{
					PoolConfig: radix.PoolConfig{CustomPool: func(_ context.Context, _, addr string) (radix.Client, error) {
						return named{server.pool(t, kind), addr}, nil
					}},
					SentinelDialer: radix.Dialer{CustomConn: stub.dial},
				}.New(t.Context(), "stub", []string{"127.0.0.1:26379"})
				require.NoError(t, err)
				ctx, stop := context.WithCancel(t.Context())
				failures := make(chan error, 1)
				var callers sync.WaitGroup
				for range 10 {
					callers.Go(func() {
						for ctx.Err() == nil {
							if err := sentinel.Do(t.Context(), radix.Cmd(nil, "INCR", "k")); err != nil {
								select {
								case failures <- err:
								default:
								}
							}
						}
					})
				}
				for i := range 10 {
					time.Sleep(100 * time.Millisecond)
					stub.name(fmt.Sprintf("10.0.0.%d:1", 2+i))
				}
				time.Sleep(100 * time.Millisecond)
				stop()
				callers.Wait()
				require.NoError(t, sentinel.Close())
				select {
				case err := <-failures:
					require.NoError(t, err)
				default:
				}
			})
		})
	}
}
