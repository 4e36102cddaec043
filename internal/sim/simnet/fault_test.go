package simnet

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStall(t *testing.T) {
	for name, c := range map[string]Conditions{
		"stall": {Stall: Both}, "partition": {Partition: Both}, "to server": {Stall: ToServer}, "to client": {Partition: ToClient},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, n *Network) {
				n.Listen("a:1", echo)
				n.Impose("", "", Conditions{Latency: 5 * ms})
				conn := dial(t, n, "a:1")
				lift := n.Impose("", "", c)
				write(t, conn, "1")
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Second)))
				_, err := conn.Read(make([]byte, 1))
				require.ErrorContains(t, err, "timeout")
				write(t, conn, "2")
				time.Sleep(2 * ms) // it is on its way
				lift()
				lift()
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*ms+1)))
				s, err := read(conn, 2)
				require.NoError(t, err)
				require.Equal(t, "12", s)
			})
		})
	}
}

func TestStallHoldsUpTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network) {
		c, server := pair(t, n)
		n.Impose("", "", Conditions{Latency: 5 * ms})
		write(t, server, "x")
		time.Sleep(5 * ms)
		first, second := n.Impose("", "", Conditions{Stall: Both}), n.Impose("", "", Conditions{Stall: ToClient})
		require.NoError(t, server.Close())
		s, err := read(c, 1)
		require.NoError(t, err)
		require.Equal(t, "x", s, "it had arrived")
		time.AfterFunc(time.Second, first)
		time.AfterFunc(2*time.Second, second)
		require.Equal(t, 2005*ms, took(func() {
			_, err := c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
		}))
	})
}

func TestCut(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network) {
		c, server := pair(t, n)
		n.Impose("", "", Conditions{Latency: 5 * ms})
		write(t, server, "arrived ")
		time.Sleep(5 * ms)
		write(t, server, "lost")
		time.AfterFunc(ms, func() { n.Cut("client", "a:1", 1) })
		require.Equal(t, ms, took(func() {
			s, err := read(c, 20)
			require.Equal(t, "arrived ", s)
			require.ErrorIs(t, err, syscall.ECONNRESET)
		}))
		for _, end := range []net.Conn{c, server} {
			_, err := end.Write([]byte("x"))
			require.ErrorIs(t, err, syscall.ECONNRESET)
			_, err = end.Read(make([]byte, 1))
			require.ErrorIs(t, err, syscall.ECONNRESET)
		}
	})
}

// A connection is cut at any byte, however it is written, and stalled before.
func TestCutAtAnyByte(t *testing.T) {
	for at := 1; at <= 12; at++ {
		for _, piece := range []int{1, 3, 10} {
			for _, way := range []Way{ToServer, ToClient} {
				for _, stall := range []bool{false, true} {
					bubble(t, func(t *testing.T, n *Network) {
						c, server := pair(t, n)
						n.Impose("", "", Conditions{Latency: 5 * ms})
						faults, from, to := Conditions{CutToServer: at}, c, server
						if way == ToClient {
							faults, from, to = Conditions{CutToClient: at}, server, c
						}
						n.Impose("", "", faults)
						if stall {
							time.AfterFunc(time.Second, n.Impose("", "", Conditions{Stall: way}))
						}
						for text := "0123456789"; text != ""; text = text[min(piece, len(text)):] {
							write(t, from, text[:min(piece, len(text))])
						}
						require.NoError(t, to.SetReadDeadline(time.Now().Add(2*time.Second)))
						got, err := read(to, 20)
						require.Equal(t, "0123456789"[:min(at, 10)], got)
						if at > 10 {
							require.ErrorContains(t, err, "timeout")
							return
						}
						require.ErrorIs(t, err, syscall.ECONNRESET)
						_, err = from.Read(make([]byte, 1))
						require.ErrorIs(t, err, syscall.ECONNRESET)
					})
				}
			}
		}
	}
}

func TestVanish(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network) {
		c, server := pair(t, n)
		n.Impose("", "", Conditions{Latency: 5 * ms})
		write(t, server, "1")
		time.Sleep(5 * ms)
		write(t, server, "2")
		n.Vanish("", "", 1)
		_, err := server.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.NoError(t, server.Close())
		write(t, c, "into the void")
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Hour)))
		s, err := read(c, 2)
		require.Equal(t, "1", s)
		require.ErrorContains(t, err, "timeout")
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Hour)))
		_, err = c.Write(make([]byte, window))
		require.ErrorContains(t, err, "timeout")
		whole, other := pair(t, n)
		n.Forget("", "") // resets what is half open, and nothing else
		require.NoError(t, c.SetDeadline(time.Time{}))
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		write(t, other, "x")
		s, err = read(whole, 1)
		require.NoError(t, err)
		require.Equal(t, "x", s)
	})
}

func TestHostsComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network) {
		old := n.Listen("a:1", echo)
		c := dial(t, n, "a:1")
		old.Close()
		_, err := n.Dialer("client")(t.Context(), "tcp", "a:1")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		write(t, c, "x")
		_, err = read(c, 1)
		require.NoError(t, err, "connections stay")

		n.Listen("a:1", func(c net.Conn) { _, _ = c.Write([]byte("new")) })
		old.Close()
		s, err := read(dial(t, n, "a:1"), 10)
		require.Equal(t, "new", s)
		require.ErrorIs(t, err, io.EOF)
		old.Kill()
		_, err = read(c, 1)
		require.ErrorIs(t, err, io.EOF)
	})
}
