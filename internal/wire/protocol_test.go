package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
		l := &Lane{framer: resp.NewFramer(lanes.Limits{}), events: noEvents{}, traffic: new(Traffic)}
		b := newTrip([]string{"GET"}, []string{"GET"})
		b.call.Begin(1)
		l.head, l.tail = b, b
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
			l := &Lane{framer: resp.NewFramer(lanes.Limits{}), events: noEvents{}, traffic: new(Traffic)}
			b := newTrip([]string{"GET"})
			b.call.Begin(1)
			_, err := l.deliver([]byte(unasked[:i]), nil)
			if err == nil {
				l.head, l.tail = b, b
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

// TestIdleWithinAPush: the first part of a push has arrived behind a reply, and nobody waits. The
// lane is not closed for the rest.
func TestIdleWithinAPush(t *testing.T) {
	rest := make(chan struct{})
	addr := scripted(t, func(p *peer) {
		for command, err := p.command(); err == nil; command, err = p.command() {
			if command[0] != "ECHO" {
				p.send("+PONG\r\n")
				continue
			}
			p.send("$1\r\nx\r\n>2\r\n+inv")
			<-rest
			p.send("alidate\r\n+x\r\n")
		}
	})
	l := dial(t, addr)
	quieten(t, l)
	b := newTrip([]string{"ECHO", "x"})
	RoundTrip(within(t, patience), l, b)
	require.Equal(t, []string{"$1\r\nx\r\n"}, b.texts())
	require.True(t, l.adrift.Load())
	close(rest)
	until(t, "the lane looks at its socket and the rest is there", func() bool {
		next, err := l.outlet().ended()
		return err == nil && next != 0 && int64(Now())-l.restedAt.Load() >= int64(idleLeast)
	})
	require.True(t, l.Usable())
	require.NoError(t, l.ping(t))
}

func TestAttributesBelongToTheirReply(t *testing.T) {
	const first, second = "|1\r\n+ttl\r\n:5\r\n-ERR no\r\n", "|0\r\n*1\r\n|1\r\n+a\r\n+b\r\n_\r\n"
	for _, pieces := range [][]string{{first + second}, bytewise(first + second)} {
		l, b := scene(t, 2, pieces...)
		assert.Equal(t, []string{first, second}, b.texts())
		assert.Equal(t, 1, b.Errors())
		assert.NoError(t, l.Err())
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

func TestGarbageBehindWholeReplies(t *testing.T) {
	for _, garbage := range []string{"$-5\r\n", "*2147483647\r\n", "HTTP/1.1 400\r\n", "+x\n"} {
		l, b := scene(t, 3, "+first\r\n:2\r\n"+garbage)
		require.Equal(t, []string{"+first\r\n", ":2\r\n", ""}, b.texts())
		_, err := b.Reply(2)
		wantOutcome(t, err, redislanes.ErrUnknownOutcome)
		require.ErrorIs(t, err, resp.ErrProtocol)
		require.ErrorIs(t, l.Err(), resp.ErrProtocol)
	}
}

// TestSurplusReplyIsNobodys: the server sends one more reply than it was asked for, once its lane
// is idle and nobody reads. The next batch must not take it for its own. A push is no reply.
func TestSurplusReplyIsNobodys(t *testing.T) {
	for surplus, harmless := range map[string]bool{
		":7\r\n": false, "+OK\r\n": false, "-ERR late\r\n": false, "$-1\r\n": false,
		"": true, ">1\r\n+x\r\n": true, "|1\r\n+k\r\n+v\r\n>1\r\n+x\r\n": true,
	} {
		late, sent := make(chan struct{}), make(chan struct{})
		addr := listen(t, func(p *peer) {
			p.take(2)
			p.send("+OK\r\n+OK\r\n")
			for {
				command, err := p.command()
				if err != nil {
					return
				}
				p.send("+" + command[0] + "\r\n")
				if command[0] == "LAST" {
					<-late
					p.send(surplus)
					close(sent)
				}
			}
		})
		l, err := DialFor(within(t, patience), lanes.Dialer{}, Purpose{}, addr)
		require.NoError(t, err)
		quieten(t, l)
		_, err = Ask(within(t, patience), l, []string{"LAST"}).Reply(0)
		require.NoError(t, err)
		close(late)
		<-sent
		until(t, "the lane is idle for long, and the bytes have arrived", func() bool {
			next, _ := l.plain.ended()
			idle := int64(Now())-l.restedAt.Load() > int64(idleLeast)
			return idle && (l.role() == background || (next != 0) == (surplus != "")) // on a busy machine it has taken over
		})
		reply, err := Ask(within(t, patience), l, []string{"NEXT"}).Reply(0)
		if harmless {
			require.NoError(t, err)
			require.Equal(t, "+NEXT\r\n", string(reply))
		} else {
			require.ErrorIs(t, err, redislanes.ErrNotSent, "%q: %s", surplus, reply)
			require.ErrorIs(t, err, resp.ErrProtocol)
		}
		require.NoError(t, l.Close())
	}
}
