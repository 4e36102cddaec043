package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// scene sends the pieces, each by itself as far as TCP lets it, as the answer
// to a batch of n commands.
func scene(t *testing.T, n int, pieces ...string) (l *Lane, b *Batch) {
	t.Helper()
	addr := scripted(t, func(p *peer) {
		if !p.take(n) {
			return
		}
		for _, piece := range pieces {
			p.send(piece)
		}
		p.echo()
	})
	l = dial(t, addr)
	commands := make([][]string, n)
	for i := range commands {
		commands[i] = []string{"GET", "k"}
	}
	b = newTrip(commands...)
	RoundTrip(within(t, patience), l, b)
	return l, b
}

func bytewise(text string) (pieces []string) {
	for _, c := range []byte(text) {
		pieces = append(pieces, string([]byte{c}))
	}
	return pieces
}

func TestPushMessagesAreIgnored(t *testing.T) {
	const push = ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n"
	const attribute = "|1\r\n+a\r\n+b\r\n"
	for name, stream := range map[string]string{
		"before":            push + ":1\r\n$1\r\na\r\n",
		"between":           ":1\r\n" + push + push + "$1\r\na\r\n",
		"behind":            ":1\r\n$1\r\na\r\n" + push,
		"everywhere":        push + ":1\r\n" + push + "$1\r\na\r\n" + push + push,
		"empty":             ">0\r\n:1\r\n>0\r\n$1\r\na\r\n>0\r\n",
		"with an attribute": attribute + push + ":1\r\n" + attribute + push + "$1\r\na\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, pieces := range [][]string{{stream}, bytewise(stream)} {
				l, b := scene(t, 2, pieces...)
				require.Equal(t, []string{":1\r\n", "$1\r\na\r\n"}, b.texts())
				require.NoError(t, l.ping(t), "the lane is in step")
			}
		})
	}
	// In any two pieces, straight into deliver.
	const stream = attribute + push + ":1\r\n" + attribute + push + "$1\r\na\r\n" + attribute + push
	for i := range stream {
		l := &Lane{in: intake{framer: resp.NewFramer(resp.DefaultMaxReply)}, Owner: Owner{Events: noEvents{}}}
		b := newTrip([]string{"GET"}, []string{"GET"})
		b.call.Begin(1)
		l.queue = fifo{b, b}
		for _, piece := range []string{stream[:i], stream[i:]} {
			_, err := l.deliver([]byte(piece), nil)
			require.NoError(t, err)
		}
		require.Equal(t, []string{":1\r\n", "$1\r\na\r\n"}, b.texts(), "split at %d", i)
	}
}

// TestBatchBehindAnUnaskedBeginning: something arrives that no batch waits for, in two pieces, and
// a batch comes in between. A push is skipped. A reply is not the batch's, nor a part of it.
func TestBatchBehindAnUnaskedBeginning(t *testing.T) {
	const push = "|1\r\n+a\r\n+b\r\n>2\r\n+x\r\n$3\r\nabc\r\n"
	for unasked, legal := range map[string]bool{push: true, "|1\r\n+a\r\n+b\r\n:7\r\n": false} {
		for i := 1; i < len(unasked)-len("7\r\n"); i++ {
			l := &Lane{in: intake{framer: resp.NewFramer(resp.DefaultMaxReply)}, Owner: Owner{Events: noEvents{}}}
			b := newTrip([]string{"GET"})
			b.call.Begin(1)
			_, err := l.deliver([]byte(unasked[:i]), nil)
			if err == nil {
				l.queue = fifo{b, b}
				_, err = l.deliver([]byte(unasked[i:]+":1\r\n"), nil)
			}
			if !legal {
				require.ErrorIs(t, err, resp.ErrProtocol, "split at %d", i)
				continue
			}
			require.NoError(t, err, "split at %d", i)
			require.Equal(t, []string{":1\r\n"}, b.texts(), "split at %d", i)
		}
	}
}

func TestUnaskedBytesCloseTheLane(t *testing.T) {
	for _, unasked := range []string{":1\r\n", "+OK\r\n", "-ERR x\r\n", "$1", "|1\r\n+a\r\n+b\r\n:1\r\n", "\r\n"} {
		l, b := scene(t, 1, "+mine\r\n"+unasked)
		require.Equal(t, []string{"+mine\r\n"}, b.texts())
		until(t, "the lane is closed", func() bool { return l.Err() != nil })
		require.ErrorIs(t, l.Err(), resp.ErrProtocol, "%q", unasked)
	}
}

// TestRepliesBeyondTheLimit close the lane. The limit holds inside of a bulk string, too.
func TestRepliesBeyondTheLimit(t *testing.T) {
	for reply, says := range map[string]string{
		"$100001\r\n": "100001",
		"*1\r\n$99000\r\n" + strings.Repeat("x", 99_000) + "\r\n": "the limit",
		strings.Repeat("*1\r\n", 1025):                            "nested more than 1024 deep",
	} {
		addr := scripted(t, func(p *peer) {
			if p.take(1) && p.send(reply) {
				p.echo()
			}
		})
		l := dialWith(t, lanes.Dialer{MaxReply: 99_008}, addr, noEvents{})
		b := newTrip([]string{"GET", "k"})
		RoundTrip(within(t, patience), l, b)
		_, err := b.Reply(0)
		wantOutcome(t, err, redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, err, resp.ErrLimit)
		require.ErrorContains(t, err, says)
	}
}
