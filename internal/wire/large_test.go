package wire

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
)

// Replies of all sizes and kinds, in pieces of all sizes: each batch has exactly
// its own bytes.
func TestRepliesOfAllSizes(t *testing.T) {
	const commands = 8
	pieces := make(chan []string, 1)
	addr := scripted(t, func(p *peer) {
		for p.take(commands) {
			for _, piece := range <-pieces {
				if !p.send(piece) {
					return
				}
			}
		}
	})
	l := dial(t, addr)
	b := new(Batch)
	request := make([][]string, commands)
	for i := range request {
		request[i] = []string{"GET", "key"}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		var stream strings.Builder
		want := make([]string, commands)
		for i := range want {
			if random.IntN(4) == 0 {
				stream.WriteString(">2\r\n$7\r\nmessage\r\n" + bulk(random))
			}
			if random.IntN(4) == 0 {
				stream.WriteString("|1\r\n+ttl\r\n" + bulk(random))
			}
			want[i] = randomReply(random)
			stream.WriteString(want[i])
		}
		b.fill(NewCall(), request...)
		pieces <- inPieces(random, stream.String())
		RoundTrip(within(t, patience), l, b)
		for i, got := range b.texts() {
			require.True(t, want[i] == got, "round %d, reply %d: %d bytes, want %d", round, i, len(got), len(want[i]))
		}
	}
	require.NoError(t, l.Err())
}

func randomReply(random *rand.Rand) string {
	switch random.IntN(3) {
	case 0:
		return fmt.Sprintf(":%d\r\n", random.Int64())
	case 1:
		return "*3\r\n" + bulk(random) + "+OK\r\n" + bulk(random)
	}
	return bulk(random)
}

// bulk is a bulk string of 0 to 1 MiB, about as often of each power of two.
func bulk(random *rand.Rand) string {
	size := random.IntN(1 << random.IntN(21))
	return string(resp.AppendBulk(nil, bytes.Repeat([]byte{byte('a' + random.IntN(26))}, size)))
}

func inPieces(random *rand.Rand, stream string) (pieces []string) {
	for most := 1 << (8 + random.IntN(13)); stream != ""; {
		n := min(1+random.IntN(most), len(stream))
		pieces, stream = append(pieces, stream[:n]), stream[n:]
	}
	return pieces
}

// Under the race detector: callers leave in the middle of a large reply, which
// goes on arriving, and look at what they have.
func TestAbandonedInALargeReply(t *testing.T) {
	const size = 300_000
	release := make(chan struct{}, 1)
	addr := scripted(t, func(p *peer) {
		for p.take(2) {
			p.send(fmt.Sprintf("$3\r\none\r\n$%d\r\n%s", size, strings.Repeat("x", size/2)))
			<-release
			p.send(strings.Repeat("x", size/2) + "\r\n")
		}
	})
	l := dial(t, addr)
	for range 30 {
		b := newTrip([]string{"GET", "1"}, []string{"GET", "2"})
		ctx, leave := context.WithCancel(t.Context())
		done := start(ctx, l, b)
		until(t, "half of the reply is there", func() bool {
			l.replyMu.Lock()
			defer l.replyMu.Unlock()
			return len(b.buf) > size/2
		})
		leave()
		await(t, "the caller", done)
		release <- struct{}{}
		require.Equal(t, []string{"$3\r\none\r\n", ""}, b.texts())
		require.Equal(t, size/2, bytes.Count(b.buf, []byte("x")))
		until(t, "the lane has done with it", func() bool { return l.InFlight() == 0 })
	}
	require.NoError(t, l.Err())
}
