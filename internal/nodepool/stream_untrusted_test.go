package nodepool

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
)

// onStream calls play in virtual time, with a connection that has subscribed and what sends it bytes.
func onStream(t *testing.T, play func(ctx context.Context, t *testing.T, c *Dedicated, send func(bytes string))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, c, send := subscription(t, func(conn net.Conn) net.Conn { return conn })
		defer p.Close()
		defer c.Return()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // so that a test of a call that hangs ends
		defer cancel()
		play(ctx, t, c, send)
	})
}

// TestStreamOfAHostileServer: radix reads a subscription on a goroutine of its own. A negative
// or huge length ended the program there, and deep nesting or many attributes its stack.
func TestStreamOfAHostileServer(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string]string{
		"negative bulk":       "$-5\r\n",
		"negative array":      "*-7\r\n",
		"huge bulk":           "$99999999999\r\n",
		"huge bulk inside":    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$99999999999\r\n",
		"huge array":          "*999999999\r\n:1\r\n",
		"no RESP":             "HTTP/1.1 400 Bad Request\r\n",
		"LF without CR":       ":1\n",
		"digits without end":  "$" + strings.Repeat("9", 30),
		"array of huge bulks": "*2\r\n$99999999999\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStream(t, func(ctx context.Context, t *testing.T, c *Dedicated, send func(string)) {
				go send(bytes)
				require.ErrorIs(t, c.EncodeDecode(ctx, nil, new(any)), resp.ErrProtocol)
			})
		})
	}
}

// TestStreamWithinLimits: a reply that is too deep costs only itself, and attributes are left out. A large
// message arrives whole, also if a call's deadline passes in the midst of it.
func TestStreamWithinLimits(t *testing.T) {
	t.Parallel()
	onStream(t, func(ctx context.Context, t *testing.T, c *Dedicated, send func(string)) {
		var raw resp3.RawMessage
		go send(strings.Repeat("*1\r\n", 2000) + ":1\r\n" + strings.Repeat("|1\r\n+k\r\n+v\r\n", 1000) + message("one"))
		require.NoError(t, c.EncodeDecode(ctx, nil, &raw))
		require.Contains(t, string(raw), "-TOODEEP")
		require.NoError(t, c.EncodeDecode(ctx, nil, &raw))
		require.Equal(t, message("one"), string(raw))

		line, told := "1 [0 1.2.3.4:5] \"SET\" \"k\" \""+strings.Repeat("x", 1<<20)+"\"", "" // of MONITOR
		go send("+" + line + "\r\n")
		require.NoError(t, c.EncodeDecode(ctx, nil, &told))
		require.Equal(t, line, told)

		large := message(strings.Repeat("x", 1<<20))
		go func() {
			send(large[:len(large)/2])
			time.Sleep(time.Minute)
			send(large[len(large)/2:])
		}()
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		require.ErrorIs(t, c.EncodeDecode(soon, nil, &raw), context.DeadlineExceeded)
		require.NoError(t, c.EncodeDecode(ctx, nil, &raw))
		require.Equal(t, large, string(raw))
	})
}

// TestStreamReceiver: a receiver that does not fit, or at which radix panics, costs its own
// message. One that does not fit the reply to a command cost the next message, too.
func TestStreamReceiver(t *testing.T) {
	t.Parallel()
	onStream(t, func(ctx context.Context, t *testing.T, c *Dedicated, send func(string)) {
		var raw resp3.RawMessage
		go send(message("reply") + message("next"))
		require.ErrorContains(t, c.EncodeDecode(ctx, resp3.RawMessage("*2\r\n$10\r\nPSUBSCRIBE\r\n$1\r\np\r\n"), new(int)), "cannot be decoded")
		require.NoError(t, c.EncodeDecode(ctx, nil, &raw))
		require.Equal(t, message("next"), string(raw))

		var list *[]string
		go send(message("panic"))
		require.ErrorContains(t, c.EncodeDecode(ctx, nil, &list), "panicked")
	})
}

// TestStreamLeavesItsReceiver: a reply that comes after the call's context has ended does not change
// the receiver of the call.
func TestStreamLeavesItsReceiver(t *testing.T) {
	t.Parallel()
	onStream(t, func(ctx context.Context, t *testing.T, c *Dedicated, send func(string)) {
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		raw := resp3.RawMessage("mine")
		require.ErrorIs(t, c.EncodeDecode(soon, []string{"PSUBSCRIBE", "p"}, &raw), context.DeadlineExceeded)
		send(message("late"))
		synctest.Wait()
		require.Equal(t, "mine", string(raw))
		go send(message("next"))
		require.NoError(t, c.EncodeDecode(ctx, nil, &raw))
		require.Equal(t, message("next"), string(raw))
	})
}

// TestStreamReceiverBehindAClose: a caller that waits for a message leaves when the connection is
// closed. A message that has arrived meanwhile does not change its receiver.
func TestStreamReceiverBehindAClose(t *testing.T) {
	t.Parallel()
	for _, replies := range []int{0, 1} { // that the caller waits for
		raw := resp3.RawMessage("mine")
		r := &streamReceiver{ctx: t.Context(), replies: replies, into: &raw}
		decoded, err := r.leave()
		require.NoError(t, err)
		require.False(t, decoded)
		require.NoError(t, r.UnmarshalRESP(bufio.NewReader(strings.NewReader(message("late"))), radixresp.NewOpts()))
		require.Equal(t, "mine", string(raw))
	}
}

// slowReceiver says that it has read what it decodes, and returns once it may.
type slowReceiver struct {
	read, may chan struct{}
	got       string
	err       error // that it returns
}

func (r *slowReceiver) UnmarshalRESP(br radixresp.BufferedReader, o *radixresp.Opts) error {
	var raw resp3.RawMessage
	err := resp3.Unmarshal(br, &raw, o)
	r.got = string(raw)
	close(r.read)
	<-r.may
	return errors.Join(err, r.err)
}

// TestStreamDecodesBesideTheEnd: the context ends while a message or a reply is being decoded. The caller
// gets what it was: it is gone from the connection.
func TestStreamDecodesBesideTheEnd(t *testing.T) {
	t.Parallel()
	p, c, send := subscription(t, func(conn net.Conn) net.Conn { return conn })
	defer p.Close()
	defer c.Return()
	for name, marshal := range map[string]any{"a message": nil, "a reply": []string{"INCRBY", "k", "1"}, "a reply that does not fit": []string{"INCRBY", "k", "1"}} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(within(t, 10*time.Second))
			slow := &slowReceiver{read: make(chan struct{}), may: make(chan struct{})}
			if name == "a reply that does not fit" {
				slow.err = radixresp.ErrConnUsable{Err: errors.New("no fit")}
			}
			go func() {
				send(message(name))
				<-slow.read
				end()
				time.AfterFunc(10*streamPatience, func() { close(slow.may) })
			}()
			err := c.EncodeDecode(ctx, marshal, slow)
			require.Equal(t, message(name), slow.got)
			if slow.err == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, slow.err, "and not the context's")
			require.NotErrorIs(t, err, redislanes.ErrUnknownOutcome)
		})
	}
}

// TestStreamWaitsForACommand: a command that blocks has its own timeout on a subscribed connection, too.
func TestStreamWaitsForACommand(t *testing.T) {
	t.Parallel()
	onStream(t, func(ctx context.Context, t *testing.T, c *Dedicated, send func(string)) {
		for timeout, patience := range map[string]time.Duration{"30": 30 * time.Second, "0": time.Minute} {
			time.AfterFunc(patience, func() { send(message(timeout)) })
			var raw resp3.RawMessage
			require.NoError(t, c.EncodeDecode(ctx, []string{"BLPOP", "q", timeout}, &raw))
			require.Equal(t, message(timeout), string(raw))
		}
		began := time.Now()
		require.ErrorIs(t, c.EncodeDecode(ctx, []string{"BLPOP", "q", "3"}, new(any)), cause.ErrStalled)
		require.Equal(t, 13*time.Second, time.Since(began).Round(time.Second))
	})
}

// TestLongErrorOnAStream: an error that is longer than a line of radix's is cut off, and the subscription
// lasts.
func TestLongErrorOnAStream(t *testing.T) {
	t.Parallel()
	onStream(t, func(ctx context.Context, t *testing.T, c *Dedicated, send func(string)) {
		long := "ERR " + strings.Repeat("x", 5000)
		time.AfterFunc(time.Second, func() { send("-" + long + "\r\n" + message("next")) })
		err := c.EncodeDecode(ctx, []string{"INCRBY", "k", "1"}, new(any))
		var said resp3.SimpleError
		require.ErrorAs(t, err, &said)
		require.True(t, strings.HasPrefix(long, said.S))
		require.Greater(t, len(said.S), 4000)
		require.NotErrorIs(t, err, redislanes.ErrUnknownOutcome)
		var raw resp3.RawMessage
		require.NoError(t, c.EncodeDecode(ctx, nil, &raw))
		require.Equal(t, message("next"), string(raw))
	})
}
