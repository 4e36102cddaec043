package wire

import (
	"context"
	"io"
	"net"

	"github.com/redislanes/redislanes/lanes"
)

// Connect is DialFor without a lane: it returns the connection after its handshake. It
// keeps deadlines, also where those of the dialer's may not.
func Connect(ctx context.Context, d lanes.Dialer, purpose Purpose, addr string) (net.Conn, error) {
	conn, settings, _, err := connect(ctx, d, purpose, addr)
	if err == nil && !settings.NetDialKeepsDeadlines && !keepsDeadlines(conn) {
		conn = behindPipe(conn)
	}
	return conn, err
}

// behindPipe returns a pipe that leads to the connection, and ends with it.
func behindPipe(conn net.Conn) net.Conn {
	near, far := net.Pipe()
	go func() {
		_, _ = io.Copy(far, conn)
		_ = far.Close()
	}()
	go func() {
		_, _ = io.Copy(conn, far)
		_ = conn.Close()
	}()
	return near
}
