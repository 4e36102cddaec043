package simnet

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// bounce sends back what it reads.
func bounce(c net.Conn) {
	p := make([]byte, 64)
	for {
		n, err := c.Read(p)
		if err != nil {
			return
		}
		if _, err := c.Write(p[:n]); err != nil {
			return
		}
	}
}

func pingPong(t testing.TB, c net.Conn, times int) {
	p := make([]byte, 64)
	for range times {
		_, err := c.Write(p)
		require.NoError(t, err)
		_, err = io.ReadFull(c, p)
		require.NoError(t, err)
	}
}

func BenchmarkMessage(b *testing.B) {
	n := New(1)
	defer n.Close()
	n.Listen("a:1", bounce)
	c, err := n.Dialer("client")(b.Context(), "tcp", "a:1")
	require.NoError(b, err)
	defer c.Close()
	b.ReportAllocs()
	b.ResetTimer()
	pingPong(b, c, b.N/2)
}

// A message costs no memory. What it costs of processor time in a bubble is for
// reading with -v.
func TestCostOfAMessage(t *testing.T) {
	const messages = 20_000
	for _, latency := range []time.Duration{0, ms} {
		bubble(t, func(t *testing.T, n *Network) {
			n.Listen("a:1", bounce)
			n.Impose("", "", Conditions{Latency: latency, Jitter: latency / 2})
			c := dial(t, n, "a:1")
			pingPong(t, c, 10)
			began := processorTime(t)
			pingPong(t, c, messages/2)
			t.Logf("latency %v: %v of processor time for a message", latency, (processorTime(t)-began)/messages)
			p := make([]byte, 64)
			require.Zero(t, testing.AllocsPerRun(100, func() {
				_, _ = c.Write(p)
				_, _ = io.ReadFull(c, p)
			}))
			synctest.Wait()
		})
	}
}
