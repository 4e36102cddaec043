package nodepool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
)

// TestStream: a subscription on a dedicated connection gets what is published, has
// the settings of the pool's connections, and leaves these as they were.
func TestStream(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Fixed{Size: 2}, server)
	ctx := within(t, 10*time.Second)
	c, err := p.Dedicate(ctx)
	require.NoError(t, err)
	reply, err := say(ctx, c, "SUBSCRIBE c")
	require.NoError(t, err)
	require.Equal(t, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", reply)
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PUBLISH", "c", "text")))
	var raw resp3.RawMessage
	require.NoError(t, c.EncodeDecode(ctx, nil, &raw))
	require.Equal(t, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\ntext\r\n", string(raw))

	soon, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.EncodeDecode(soon, nil, &raw), context.DeadlineExceeded)
	require.NoError(t, p.Do(ctx, radix.Cmd(nil, "PUBLISH", "c", "later")))
	require.NoError(t, c.EncodeDecode(ctx, nil, &raw), "the subscription goes on")
	require.ErrorContains(t, c.EncodeDecode(ctx, []string{"PSUBSCRIBE"}, new(any)), "redislanes: PSUBSCRIBE on "+p.Address()+": ERR wrong number")
	c.Return()
	_, err = say(ctx, c, "PING")
	require.Error(t, err)
	require.Equal(t, "", get(t, p, "k"))
	require.Zero(t, p.Stats().Closes[redislanes.CloseUnclean], "the dedicated connection was not used")
	var subscribers []any
	for { // the server has to notice that the connection is closed
		require.NoError(t, p.Do(ctx, radix.Cmd(&subscribers, "PUBSUB", "NUMSUB", "c")))
		if subscribers[1].(int64) == 0 {
			break
		}
	}
}

// TestStreamEndsWithThePool: who waits for a message is told.
func TestStreamEndsWithThePool(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Laned{Lanes: 1}, server)
	ctx := within(t, 10*time.Second)
	subscribed, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- p.Do(ctx, radix.WithConn("", func(ctx context.Context, conn radix.Conn) error {
			own := radix.PubSubConfig{}.New(conn)
			err := own.Subscribe(ctx, "c")
			close(subscribed)
			if err == nil {
				_, err = own.Next(ctx)
			}
			return err
		}))
	}()
	<-subscribed
	require.NoError(t, p.Close())
	require.Error(t, <-ended)
	require.NoError(t, ctx.Err())
}

// subscription is a subscription over connections of NetDial, of a server that sends what it
// is given. The server does not answer PSUBSCRIBE and INCRBY.
func subscription(t *testing.T, wrap func(net.Conn) net.Conn) (p *Node, c *Dedicated, send func(bytes string)) {
	var subscriber net.Conn
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	serve := func(conn net.Conn) {
		defer conn.Close()
		in := bufio.NewReader(conn)
		for command, err := readCommand(in); err == nil; command, err = readCommand(in) {
			reply := "+OK\r\n"
			switch command {
			case "PSUBSCRIBE", "INCRBY", "BLPOP":
				continue
			case "STUCK": // what follows is not read
				<-over
				return
			case "SUBSCRIBE":
				subscriber, reply = conn, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
			}
			_, _ = io.WriteString(conn, reply)
		}
	}
	dial := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serve(server)
		return wrap(client), nil
	}
	p, err := New(Fixed{Size: 1}, lanes.Dialer{NetDial: dial}, "pipe:1", nil)
	require.NoError(t, err)
	c, err = p.Dedicate(t.Context())
	require.NoError(t, err)
	_, err = say(t.Context(), c, "SUBSCRIBE c")
	require.NoError(t, err)
	return p, c, func(bytes string) { _, _ = io.WriteString(subscriber, bytes) }
}

// message is what a subscriber of the channel c gets.
func message(text string) string {
	return fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$%d\r\n%s\r\n", len(text), text)
}

// TestStubbornStream: who has subscribed does not wait for a connection that does not end.
func TestStubbornStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c, _ := subscription(t, func(conn net.Conn) net.Conn { return lingering{conn} })
		began := time.Now()
		c.Return()
		require.Zero(t, time.Since(began))
		require.NoError(t, p.Close())
		time.Sleep(lingers)
	})
}

// An untimed connection takes deadlines, and does not keep them.
type untimed struct{ net.Conn }

func (untimed) SetDeadline(time.Time) error      { return nil }
func (untimed) SetReadDeadline(time.Time) error  { return nil }
func (untimed) SetWriteDeadline(time.Time) error { return nil }

// TestStreamKeepsDeadlines: who waits for a message does so no longer than the context
// lasts, whatever the connection does, and loses no message by it.
func TestStreamKeepsDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c, send := subscription(t, func(conn net.Conn) net.Conn { return untimed{conn} })
		defer p.Close()
		defer c.Return()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var raw resp3.RawMessage
		began := time.Now()
		require.ErrorIs(t, c.EncodeDecode(ctx, nil, &raw), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		send(message("later"))
		require.NoError(t, c.EncodeDecode(t.Context(), nil, &raw))
		require.Contains(t, string(raw), "later")
	})
}

// TestStreamLeavesWhatIsStuck: the server has stopped, so that a command cannot be written, or a
// reply that its caller has left is still due. The next calls end with their contexts, too, and
// lose no message.
func TestStreamLeavesWhatIsStuck(t *testing.T) {
	t.Parallel()
	for name, first := range map[string][]string{
		"a reply is due":    {"PSUBSCRIBE", "p"},
		"a write is stuck":  {"STUCK", "k"}, // what follows
		"nothing was asked": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStream(t, func(_ context.Context, t *testing.T, c *Dedicated, send func(string)) {
				var raw resp3.RawMessage
				for _, command := range [][]string{first, nil, {"PSUBSCRIBE", strings.Repeat("q", 1<<20)}, nil} {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					began := time.Now()
					var marshal any
					if command != nil {
						marshal = command
					}
					done := make(chan error, 1)
					go func() { done <- c.EncodeDecode(ctx, marshal, &raw) }()
					select {
					case err := <-done:
						require.ErrorIs(t, err, context.DeadlineExceeded)
						require.LessOrEqual(t, time.Since(began), time.Second+streamPatience)
					case <-time.After(time.Minute):
						t.Fatal("the call has not ended")
					}
				}
				if name == "a write is stuck" {
					return
				}
				send(strings.Repeat("*3\r\n$10\r\npsubscribe\r\n$1\r\np\r\n:2\r\n", min(len(first), 1)+1) + message("later"))
				require.NoError(t, c.EncodeDecode(t.Context(), nil, &raw))
				require.Contains(t, string(raw), "later")
			})
		})
	}
}

// TestStreamOutcomes: a command without a reply on a subscribed connection tells what became of
// it, as on any other. INCRBY stands for one that may not run twice.
func TestStreamOutcomes(t *testing.T) {
	t.Parallel()
	var list *[]string
	for name, test := range map[string]struct {
		into    any
		during  func(c *Dedicated, send func(string)) // what happens once the command was sent
		outcome error
		cause   error
		decoded bool // there was a reply
	}{
		"the context ends":      {into: new(any), outcome: redislanes.ErrUnknownOutcome, cause: context.DeadlineExceeded},
		"the server is silent":  {into: new(any), outcome: redislanes.ErrUnknownOutcome, cause: cause.ErrStalled},
		"the connection breaks": {into: new(any), during: func(_ *Dedicated, send func(string)) { send("HTTP/1.1\r\n") }, outcome: redislanes.ErrUnknownOutcome, cause: resp.ErrProtocol},
		"the user closes it":    {into: new(any), during: func(c *Dedicated, _ func(string)) { _ = c.Close() }, outcome: redislanes.ErrUnknownOutcome},
		"it had ended before":   {into: new(any), outcome: redislanes.ErrNotSent, cause: context.Canceled},
		"an error":              {into: new(any), during: func(_ *Dedicated, send func(string)) { send("-ERR no\r\n") }, cause: resp3.SimpleError{S: "ERR no"}},
		"a blob error":          {into: new(any), during: func(_ *Dedicated, send func(string)) { send("!6\r\nERR no\r\n") }, cause: resp3.SimpleError{S: "ERR no"}},
		"it does not fit":       {into: new(int), during: func(_ *Dedicated, send func(string)) { send("*0\r\n") }, decoded: true},
		"its receiver panics":   {into: &list, during: func(_ *Dedicated, send func(string)) { send("*0\r\n") }, decoded: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStream(t, func(ctx context.Context, t *testing.T, c *Dedicated, send func(string)) {
				switch {
				case errors.Is(test.cause, context.DeadlineExceeded):
					soon, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					ctx = soon
				case errors.Is(test.cause, context.Canceled):
					ended, cancel := context.WithCancel(ctx)
					cancel()
					ctx = ended
				}
				if test.during != nil {
					time.AfterFunc(time.Millisecond, func() { test.during(c, send) })
				}
				err := c.EncodeDecode(ctx, []string{"INCRBY", "k", "1"}, test.into)
				var known *redislanes.Error
				require.ErrorAs(t, err, &known)
				require.Equal(t, "INCRBY", known.Command)
				require.Equal(t, c.Address(), known.Addr)
				require.Equal(t, test.outcome, known.Outcome)
				if test.cause != nil {
					require.ErrorIs(t, err, test.cause)
				}
				if ctx.Err() != nil {
					require.ErrorAs(t, err, new(radixresp.ErrConnUsable), "the connection can still be used")
				}
				require.Equal(t, test.decoded, errors.As(err, new(*redislanes.DecodeError)))
			})
		})
	}
}

// TestNoStream: a connection that is not as its user got it gets no other in its place, and
// what radix cannot read is refused.
func TestNoStream(t *testing.T) {
	t.Parallel()
	server := servers.StartServer(t, servers.Options{})
	p := open(t, Fixed{Size: 1}, server)
	ctx := within(t, 10*time.Second)
	for before, refused := range map[string]string{
		"MULTI": "SUBSCRIBE c", "WATCH k": "MONITOR", "SELECT 0": "PSUBSCRIBE c", "CLIENT SETNAME x": "SUBSCRIBE d", "GET k": "CLIENT REPLY OFF",
	} {
		why := cause.ErrChanged
		if before == "GET k" {
			why = cause.ErrUnanswered
		}
		c, err := p.Dedicate(ctx)
		require.NoError(t, err)
		_, err = say(ctx, c, before)
		require.NoError(t, err)
		_, err = say(ctx, c, refused)
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, err, redislanes.ErrShared)
		var raw resp3.RawMessage
		require.ErrorIs(t, c.EncodeDecode(ctx, nil, &raw), redislanes.ErrNotSent, "reading without a command")
		c.Return()
	}
}
