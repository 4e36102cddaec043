package simnet

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFidelityOfTCP: connections here end as those of TCP do, on the loopback of this machine.
func TestFidelityOfTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	real := endings(t, func() (client, server net.Conn) {
		client, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		return client, <-accepted
	})
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, refused.Close())
	_, err = net.DialTimeout("tcp", refused.Addr().String(), time.Second)
	real["a dial to nobody"] = class(err)

	bubble(t, func(t *testing.T, n *Network) {
		n.Impose("", "", Conditions{Latency: ms})
		mine := endings(t, func() (client, server net.Conn) { return pair(t, n) })
		_, err := n.Dialer("a")(t.Context(), "tcp", "nobody:1")
		mine["a dial to nobody"] = class(err)
		require.Equal(t, real, mine)
	})
}

// endings returns how reads and writes of connections end.
func endings(t *testing.T, connect func() (client, server net.Conn)) map[string]string {
	const settles = 20 * time.Millisecond // until the other end has heard
	ends := make(map[string]string)
	of := func(name string, play func(client, server net.Conn) error) {
		client, server := connect()
		defer client.Close()
		defer server.Close()
		ends[name] = class(play(client, server))
	}
	reads := func(c net.Conn, n int) error {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Second)))
		_, err := io.ReadFull(c, make([]byte, n))
		return err
	}
	of("a read behind the end", func(client, server net.Conn) error {
		_ = server.Close()
		return reads(client, 1)
	})
	of("bytes before the end", func(client, server net.Conn) error {
		_, _ = server.Write([]byte("12345"))
		_ = server.Close()
		return reads(client, 5)
	})
	of("a read behind an end with unread bytes", func(client, server net.Conn) error {
		_, _ = client.Write([]byte("12345"))
		time.Sleep(settles)
		_ = server.Close()
		time.Sleep(settles)
		return reads(client, 1)
	})
	of("the first write behind the end", func(client, server net.Conn) error {
		_ = server.Close()
		time.Sleep(settles)
		_, err := client.Write([]byte("1"))
		return err
	})
	of("a read behind that write", func(client, server net.Conn) error {
		_ = server.Close()
		time.Sleep(settles)
		_, _ = client.Write([]byte("1"))
		time.Sleep(settles)
		_, _ = client.Write([]byte("1"))
		return reads(client, 1)
	})
	of("a read by a closed end", func(client, _ net.Conn) error {
		_ = client.Close()
		_, err := client.Read(make([]byte, 1))
		return err
	})
	of("a read without bytes", func(client, _ net.Conn) error {
		require.NoError(t, client.SetReadDeadline(time.Now().Add(settles)))
		_, err := client.Read(make([]byte, 1))
		return err
	})
	return ends
}

// class says what kind of error it is.
func class(err error) string {
	for name, is := range map[string]error{
		"end": io.EOF, "reset": syscall.ECONNRESET, "broken pipe": syscall.EPIPE, "closed": net.ErrClosed,
		"deadline": os.ErrDeadlineExceeded, "refused": syscall.ECONNREFUSED,
	} {
		if errors.Is(err, is) {
			return name
		}
	}
	if err == nil {
		return "success"
	}
	return err.Error()
}
