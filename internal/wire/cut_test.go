package wire

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

var (
	fiveCommands = [][]string{{"INCRBY", "a", "1"}, {"GET", "b"}, {"HGETALL", "c"}, {"NOPE"}, {"INCRBY", "d", "1"}}
	fiveReplies  = []string{":1\r\n", "$5\r\nv\r\nal\r\n", "*2\r\n$1\r\nf\r\n$-1\r\n", "-ERR unknown\r\n", ":23456\r\n"}
)

// wantOutcome checks a command without a reply: one outcome, never both.
func wantOutcome(t testing.TB, err, want error) {
	t.Helper()
	require.ErrorIs(t, err, want)
	for _, other := range []error{redislanes.ErrNotSent, redislanes.ErrUnknownOutcome} {
		require.Equal(t, errors.Is(want, other), errors.Is(err, other), "%v", err)
	}
}

// The server hangs up, or sends garbage, behind every byte of its replies: what
// came whole is acknowledged, the rest unknown.
func TestReplyStreamCutAtEveryOffset(t *testing.T) {
	all := strings.Join(fiveReplies, "")
	for _, end := range []string{"", "\x00"} {
		cut := make(chan int, 1)
		addr := scripted(t, func(p *peer) {
			if p.take(len(fiveCommands)) {
				p.send(all[:<-cut] + end)
			}
		})
		b := new(Batch) // used again, with its memory
		for offset := range all {
			l := dial(t, addr)
			b.fill(NewCall(), fiveCommands...)
			cut <- offset
			RoundTrip(within(t, patience), l, b)
			sum, failed := 0, 0
			for i, want := range fiveReplies {
				reply, err := b.Reply(i)
				if sum += len(want); sum <= offset {
					require.NoError(t, err, "offset %d, reply %d", offset, i)
					require.Equal(t, want, string(reply), "offset %d, reply %d", offset, i)
				} else {
					wantOutcome(t, err, redislanes.ErrUnknownOutcome)
					failed++
				}
			}
			require.True(t, b.Failed())
			require.Positive(t, failed)
			require.NoError(t, l.Close())
		}
	}
}

// large returns n commands of about size bytes.
func large(n, size int) (commands [][]string) {
	value := strings.Repeat("v", size)
	for range n {
		commands = append(commands, []string{"SET", "key", value})
	}
	return commands
}

// dialable starts a scripted server that lanes write to in the way with the name.
func dialable(t testing.TB, way string, handler func(p *peer)) (addr string, d lanes.Dialer) {
	switch way {
	case "TLS":
		return scriptedTLS(t, handler)
	case "not a socket":
		d.NetDial = dialHidden
	}
	return scripted(t, handler), d
}

// A server that reads nothing until the lane gives up must not find a complete
// copy of a command that is reported as not sent.
func TestServerThatReadsNothing(t *testing.T) {
	for _, name := range []string{"socket", "TLS", "not a socket"} {
		t.Run(name, func(t *testing.T) {
			gaveUp, whole := make(chan struct{}), make(chan int, 1)
			addr, d := dialable(t, name, func(p *peer) {
				<-gaveUp
				rest, _ := io.ReadAll(p.in)
				n := 0
				for first, rest := resp.Cut(rest); first != nil; first, rest = resp.Cut(rest) {
					n++
				}
				whole <- n
			})
			d.Timeout = 100 * time.Millisecond
			l := dialWith(t, d, addr, noEvents{})
			b, behind := newTrip(large(100, 1<<18)...), newTrip([]string{"PING"})
			done := start(within(t, patience), l, b)
			until(t, "the first is in flight", func() bool { return l.InFlight() == 1 })
			doneBehind := start(within(t, patience), l, behind)
			await(t, "the write timeout", done)
			await(t, "the write timeout", doneBehind)
			close(gaveUp)

			unknown := 0
			for i := range b.Len() {
				_, err := b.Reply(i)
				if errors.Is(err, redislanes.ErrUnknownOutcome) {
					unknown++
					require.Equal(t, unknown, i+1, "the unknown ones come first")
					continue
				}
				wantOutcome(t, err, redislanes.ErrNotSent)
			}
			_, err := behind.Reply(0)
			wantOutcome(t, err, redislanes.ErrNotSent)
			assert.Less(t, unknown, b.Len())
			assert.LessOrEqual(t, <-whole, unknown)
			until(t, "the writer is gone", l.idleWriter)
		})
	}
}

// A lane that is closed by its own side, whose error says that nothing can be
// sent any more, does not call commands not sent that it had sent.
func TestClosedWithRepliesMissing(t *testing.T) {
	addr, got, _ := gated(t)
	l := dial(t, addr)
	b := newTrip([]string{"INCRBY", "a", "1"})
	done := start(within(t, patience), l, b)
	<-got
	require.NoError(t, l.Close())
	await(t, "the end", done)
	_, err := b.Reply(0)
	wantOutcome(t, err, redislanes.ErrUnknownOutcome)
	require.ErrorIs(t, err, ErrClosed, "it is still the cause")

	RoundTrip(context.Background(), l, b.again())
	_, err = b.Reply(0)
	wantOutcome(t, err, redislanes.ErrNotSent)
	require.ErrorIs(t, err, ErrClosed)
}

func (b *Batch) again() *Batch {
	b.fill(NewCall(), []string{"INCRBY", "a", "1"})
	return b
}
