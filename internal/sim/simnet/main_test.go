package simnet

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// bubble runs f in a bubble with a network, of which nothing may be left.
func bubble(t *testing.T, f func(t *testing.T, n *Network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		t.Cleanup(func() { // the last one
			n.Close()
			synctest.Wait()
			require.Zero(t, n.Open(""), "ends of clients")
			require.Empty(t, n.wires)
		})
		f(t, n)
	})
}

// dial connects, and closes the connection when the test ends.
func dial(t *testing.T, n *Network, addr string) net.Conn {
	t.Helper()
	c, err := n.Dialer("client")(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// pair returns both ends of a connection.
func pair(t *testing.T, n *Network) (client, server net.Conn) {
	t.Helper()
	accepted := make(chan net.Conn)
	n.Listen("a:1", func(c net.Conn) {
		accepted <- c
		<-t.Context().Done()
	})
	type dialled struct {
		net.Conn
		error
	}
	done := make(chan dialled, 1)
	go func() {
		c, err := n.Dialer("client")(t.Context(), "tcp", "a:1")
		done <- dialled{c, err}
	}()
	server = <-accepted
	d := <-done
	require.NoError(t, d.error)
	t.Cleanup(func() { _ = d.Conn.Close() })
	return d.Conn, server
}

func echo(c net.Conn) { _, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) }

// read reads until there are n bytes or an error.
func read(c net.Conn, n int) (string, error) {
	p := make([]byte, n)
	n, err := io.ReadFull(c, p)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return string(p[:n]), err
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	n, err := c.Write([]byte(s))
	require.NoError(t, err)
	require.Equal(t, len(s), n)
}

// took returns how long f took.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

const ms = time.Millisecond
