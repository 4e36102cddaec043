package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// An actionConn is a lane that many callers share, as actions of radix see it.
type actionConn struct{ *Lane }

func (c actionConn) Addr() net.Addr { return NetAddr(c.Address()) }

func (c actionConn) Do(ctx context.Context, action radix.Action) error {
	return Perform(ctx, action, c)
}

func (c actionConn) EncodeDecode(ctx context.Context, marshal, into any) error {
	r, err := Encode(marshal)
	if err != nil || r.Len() == 0 {
		return err
	}
	return r.Exchange(ctx, c, into)
}

func (c actionConn) Alone(context.Context, func(radix.Conn) error) error {
	return NotSent(c.Address(), errNoneAlone)
}

var errNoneAlone = errors.New("there is no connection for one user alone")

func TestActionsOverALane(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	for _, protocol := range []int{2, 3} {
		l := dialWith(t, lanes.Dialer{Protocol: protocol}, server.Addrs()[0], noEvents{})
		ctx := within(t, patience)
		var n int
		var s string
		var all map[string]string
		missing := "untouched"
		require.NoError(t, actionConn{l}.Do(ctx, radix.Cmd(nil, "DEL", "n", "h", "l")))
		require.NoError(t, actionConn{l}.Do(ctx, radix.Cmd(&n, "INCRBY", "n", "41")))
		require.NoError(t, actionConn{l}.Do(ctx, radix.FlatCmd(&n, "INCRBY", "n", 1)))
		require.Equal(t, 42, n)
		require.NoError(t, actionConn{l}.Do(ctx, radix.FlatCmd(nil, "HSET", "h", map[string]int{"a": 1})))
		require.NoError(t, actionConn{l}.Do(ctx, radix.Cmd(&all, "HGETALL", "h")))
		require.Equal(t, map[string]string{"a": "1"}, all)
		maybe := radix.Maybe{Rcv: &missing}
		require.NoError(t, actionConn{l}.Do(ctx, radix.Cmd(&maybe, "GET", "missing")))
		require.True(t, maybe.Null)

		p := radix.NewPipeline()
		p.Append(radix.Cmd(nil, "SET", "s", "a\r\nb\x00"))
		p.Append(radix.Cmd(&s, "GET", "s"))
		p.Append(radix.FlatCmd(&n, "INCR", "n"))
		require.NoError(t, actionConn{l}.Do(ctx, p))
		require.Equal(t, "a\r\nb\x00", s)
		require.Equal(t, 43, n)

		err := actionConn{l}.Do(ctx, radix.Cmd(&n, "INCR", "s"))
		var simple resp3.SimpleError
		require.ErrorAs(t, err, &simple)
		require.Contains(t, simple.S, "not an integer")
		require.NoError(t, l.Err())
	}
}

func TestEvalScriptSendsTheScriptOnce(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	l := dial(t, server.Addrs()[0])
	script := radix.NewEvalScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	for want := 5; want <= 15; want += 5 { // NOSCRIPT, EVAL; then EVALSHA
		var n int
		require.NoError(t, actionConn{l}.Do(within(t, patience), script.Cmd(&n, []string{"k"}, "5")))
		require.Equal(t, want, n)
	}
	b := newTrip([]string{"INFO", "commandstats"})
	RoundTrip(within(t, patience), l, b)
	assert.Contains(t, b.texts()[0], "cmdstat_eval:calls=1,")
	assert.Contains(t, b.texts()[0], "cmdstat_evalsha:calls=3,")
}

func TestPipelineWithAnErrorReply(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	l := dial(t, server.Addrs()[0])
	var before, after string
	p := radix.NewPipeline()
	p.Append(radix.Cmd(nil, "SET", "k", "text"))
	p.Append(radix.Cmd(&before, "GET", "k"))
	p.Append(radix.Cmd(nil, "INCR", "k"))
	p.Append(radix.Cmd(&after, "GET", "k"))
	err := actionConn{l}.Do(within(t, patience), p)
	var simple resp3.SimpleError
	require.ErrorAs(t, err, &simple)
	assert.Equal(t, []string{"text", "text"}, []string{before, after}, "the other commands have their replies")
}

// Under the race detector: the receiver is the caller's again as soon as Do has
// returned, and a late reply does not reach it.
func TestReceiverIsNotTouchedAfterReturn(t *testing.T) {
	addr, got, answer := gated(t)
	l := dial(t, addr)
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		receiver := "mine"
		var err error
		var task sync.WaitGroup
		task.Go(func() { err = actionConn{l}.Do(ctx, radix.Cmd(&receiver, "GET", "k")) })
		<-got
		cancel()
		task.Wait()
		wantOutcome(t, err, redislanes.ErrUnknownOutcome)
		receiver = "still mine"
		answer <- "$4\r\nlate\r\n"
		until(t, "the late reply has come", func() bool { return l.InFlight() == 0 })
		require.Equal(t, "still mine", receiver)
	}
	require.NoError(t, l.ping(t))
}

func TestStatefulCommandsAreRefused(t *testing.T) {
	server := servers.StartServer(t, servers.Options{})
	l := dial(t, server.Addrs()[0])
	ctx := within(t, patience)
	for _, command := range [][]string{{"MULTI"}, {"multi"}, {"SELECT", "1"}, {"SUBSCRIBE", "x"}, {"CLIENT", "REPLY", "OFF"}, {"client", "reply", "skip"}, {"WATCH", "k"},
		{"REPLCONF", "ACK", "0"}, {"REPLCONF", "GETACK", "*"}, {"CLIENT", "NO-EVICT", "on"}, {"CLIENT", "SETNAME", "x"}, {"ASKING"}, {"SCRIPT", "DEBUG", "YES"}} {
		for _, before := range [][]string{nil, {"PING"}} {
			var request []byte
			if before != nil {
				request = resp.AppendCommand(request, before[0])
			}
			request = resp.AppendCommand(request, command[0], command[1:]...)
			err := actionConn{l}.EncodeDecode(ctx, resp3.RawMessage(request), nil)
			require.ErrorIs(t, err, redislanes.ErrShared, "%q behind %q", command, before)
			require.ErrorIs(t, err, redislanes.ErrNotSent)
		}
	}
	require.NoError(t, actionConn{l}.Do(ctx, radix.Cmd(nil, "CLIENT", "GETNAME")))
	require.ErrorIs(t, actionConn{l}.Do(ctx, radix.Cmd(nil, "BLPOP", "l", "1")), errNoneAlone)
}

// What Redis would not answer, or would hang up on, never reaches the lane.
func TestEncodeDecodeRefusesWhatIsNoCommand(t *testing.T) {
	l := dial(t, scripted(t, (*peer).echo))
	for _, request := range []string{"PING\r\n", "*0\r\n", "*-1\r\n", "+OK\r\n", "*1\r\n:1\r\n", "*1\r\n$4\r\nPING\r\n*0\r\n", "*1\r\n$4\r\nPI"} {
		err := actionConn{l}.EncodeDecode(t.Context(), resp3.RawMessage(request), nil)
		require.EqualError(t, err, "redislanes: the request is not a sequence of whole commands: not sent", "%q", request)
		require.Zero(t, l.InFlight(), "%q", request)
	}
	require.EqualError(t, actionConn{l}.EncodeDecode(t.Context(), nil, nil), "redislanes: reading without a command works only on a connection of Client.Dial: not sent")
	require.NoError(t, actionConn{l}.Do(t.Context(), radix.NewPipeline()), "empty")
	require.NoError(t, l.ping(t))
}

func TestUnmarshalIntoNothingKeepsErrors(t *testing.T) {
	require.NoError(t, Unmarshal([]byte(":1\r\n*1\r\n-ERR inside\r\n$-1\r\n"), nil))
	err := Unmarshal([]byte(":1\r\n-ERR no\r\n-ERR second\r\n"), nil)
	require.EqualError(t, err, "ERR no")
}
