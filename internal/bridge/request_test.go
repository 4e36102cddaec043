package bridge

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }

// dial connects to addr, and closes the lane when the test ends.
func dial(t testing.TB, d lanes.Dialer, addr string) laneConn {
	t.Helper()
	l, err := wire.DialFor(t.Context(), d, wire.Purpose{}, addr, wire.Owner{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return laneConn{l}
}

// A laneConn is a lane that many callers share, as actions of radix see it.
type laneConn struct{ *wire.Lane }

func (c laneConn) Addr() net.Addr { return wire.NetAddr(c.Address()) }

func (c laneConn) Do(ctx context.Context, action radix.Action) error {
	return Perform(ctx, action, c)
}

func (c laneConn) EncodeDecode(ctx context.Context, marshal, into any) error {
	var r Request
	if err := r.Encode(nil, marshal); err != nil || r.Len() == 0 {
		return err
	}
	return r.Exchange(ctx, c, c.Alone, into)
}

func (c laneConn) Alone(context.Context, func(radix.Conn) error) error {
	return wire.NotSent(c.Address(), errNoneAlone)
}

var errNoneAlone = errors.New("there is no connection for one user alone")

func TestActionsOverALane(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	for _, protocol := range []int{2, 3} {
		l := dial(t, lanes.Dialer{Protocol: protocol}, server.Addrs()[0])
		ctx := t.Context()
		var n int
		var s string
		var all map[string]string
		missing := "untouched"
		require.NoError(t, l.Do(ctx, radix.Cmd(nil, "DEL", "n", "h", "l")))
		require.NoError(t, l.Do(ctx, radix.Cmd(&n, "INCRBY", "n", "41")))
		require.NoError(t, l.Do(ctx, radix.FlatCmd(&n, "INCRBY", "n", 1)))
		require.Equal(t, 42, n)
		require.NoError(t, l.Do(ctx, radix.FlatCmd(nil, "HSET", "h", map[string]int{"a": 1})))
		require.NoError(t, l.Do(ctx, radix.Cmd(&all, "HGETALL", "h")))
		require.Equal(t, map[string]string{"a": "1"}, all)
		maybe := radix.Maybe{Rcv: &missing}
		require.NoError(t, l.Do(ctx, radix.Cmd(&maybe, "GET", "missing")))
		require.True(t, maybe.Null)

		p := radix.NewPipeline()
		p.Append(radix.Cmd(nil, "SET", "s", "a\r\nb\x00"))
		p.Append(radix.Cmd(&s, "GET", "s"))
		p.Append(radix.FlatCmd(&n, "INCR", "n"))
		require.NoError(t, l.Do(ctx, p))
		require.Equal(t, "a\r\nb\x00", s)
		require.Equal(t, 43, n)

		err := l.Do(ctx, radix.Cmd(&n, "INCR", "s"))
		var simple resp3.SimpleError
		require.ErrorAs(t, err, &simple)
		require.Contains(t, simple.S, "not an integer")
		require.NoError(t, l.Err())
	}
}

func TestEvalScriptSendsTheScriptOnce(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	l := dial(t, lanes.Dialer{}, server.Addrs()[0])
	script := radix.NewEvalScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	for want := 5; want <= 15; want += 5 { // NOSCRIPT, EVAL; then EVALSHA
		var n int
		require.NoError(t, l.Do(t.Context(), script.Cmd(&n, []string{"k"}, "5")))
		require.Equal(t, want, n)
	}
	var stats string
	require.NoError(t, l.Do(t.Context(), radix.Cmd(&stats, "INFO", "commandstats")))
	assert.Contains(t, stats, "cmdstat_eval:calls=1,")
	assert.Contains(t, stats, "cmdstat_evalsha:calls=3,")
}

// TestReceiverIsTheCallersAgain: under the race detector, a late reply does not reach the receiver of a
// call that has returned.
func TestReceiverIsTheCallersAgain(t *testing.T) {
	got, answer := make(chan struct{}), make(chan struct{})
	var peers sync.WaitGroup
	t.Cleanup(peers.Wait)
	d := lanes.Dialer{NoSetInfo: true, NetDial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		peers.Go(func() {
			defer server.Close()
			in := make([]byte, 1<<10)
			for {
				n, err := server.Read(in)
				if err != nil {
					return
				}
				reply := bytes.Repeat([]byte("+OK\r\n"), bytes.Count(in[:n], []byte("*"))) // to the handshake
				if bytes.Contains(in[:n], []byte("GET")) {
					got <- struct{}{}
					<-answer
					reply = []byte("$4\r\nlate\r\n")
				}
				if _, err := server.Write(reply); err != nil {
					return
				}
			}
		})
		return client, nil
	}}
	l := dial(t, d, "peer:1")
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		receiver := "mine"
		var err error
		var call sync.WaitGroup
		call.Go(func() { err = l.Do(ctx, radix.Cmd(&receiver, "GET", "k")) })
		<-got
		cancel()
		call.Wait()
		require.ErrorIs(t, err, redislanes.ErrUnknownOutcome)
		receiver = "still mine"
		answer <- struct{}{}
		require.Eventually(t, func() bool { return l.InFlight() == 0 }, 20*time.Second, time.Millisecond)
		require.Equal(t, "still mine", receiver)
	}
}

func TestStatefulCommandsAreRefused(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	l := dial(t, lanes.Dialer{}, server.Addrs()[0])
	ctx := t.Context()
	for _, command := range [][]string{{"MULTI"}, {"multi"}, {"SELECT", "1"}, {"SUBSCRIBE", "x"}, {"CLIENT", "REPLY", "OFF"}, {"client", "reply", "skip"}, {"WATCH", "k"},
		{"REPLCONF", "ACK", "0"}, {"REPLCONF", "GETACK", "*"}, {"CLIENT", "NO-EVICT", "on"}, {"CLIENT", "SETNAME", "x"}, {"ASKING"}, {"SCRIPT", "DEBUG", "YES"}} {
		for _, before := range [][]string{nil, {"PING"}} {
			var request []byte
			if before != nil {
				request = resp.AppendCommand(request, before[0])
			}
			request = resp.AppendCommand(request, command[0], command[1:]...)
			err := l.EncodeDecode(ctx, resp3.RawMessage(request), nil)
			require.ErrorIs(t, err, redislanes.ErrShared, "%q behind %q", command, before)
			require.ErrorIs(t, err, redislanes.ErrNotSent)
		}
	}
	require.NoError(t, l.Do(ctx, radix.Cmd(nil, "CLIENT", "GETNAME")))
	require.ErrorIs(t, l.Do(ctx, radix.Cmd(nil, "BLPOP", "l", "1")), errNoneAlone)
}

// What Redis would not answer, or would hang up on, never reaches the lane.
func TestEncodeDecodeRefusesWhatIsNoCommand(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	l := dial(t, lanes.Dialer{}, server.Addrs()[0])
	for _, request := range []string{"PING\r\n", "*0\r\n", "*-1\r\n", "+OK\r\n", "*1\r\n:1\r\n", "*1\r\n$4\r\nPING\r\n*0\r\n", "*1\r\n$4\r\nPI"} {
		err := l.EncodeDecode(t.Context(), resp3.RawMessage(request), nil)
		require.EqualError(t, err, "redislanes: the request is not a sequence of whole commands: not sent", "%q", request)
		require.Zero(t, l.InFlight(), "%q", request)
	}
	require.EqualError(t, l.EncodeDecode(t.Context(), nil, nil), "redislanes: reading without a command works only on a connection of Client.Dial: not sent")
	require.NoError(t, l.Do(t.Context(), radix.NewPipeline()), "empty")
	require.NoError(t, l.Do(t.Context(), radix.Cmd(nil, "PING")))
}
