//go:build unix

package wire

import (
	"net"
	"syscall"
)

// rawWriter returns access to the socket below conn, if writing to it directly
// is the same as writing to conn.
func rawWriter(conn net.Conn) syscall.RawConn {
	switch c := conn.(type) {
	case *net.TCPConn:
		raw, err := c.SyscallConn()
		if err == nil {
			return raw
		}
	case *net.UnixConn:
		raw, err := c.SyscallConn()
		if err == nil {
			return raw
		}
	}
	return nil
}

// tryWrite writes once. It always returns true, so that RawConn.Write does not
// wait for a socket that accepts nothing.
func (l *Lane) tryWrite(fd uintptr) bool {
	for l.wrote < len(l.out) {
		n, err := syscall.Write(int(fd), l.out[l.wrote:])
		switch {
		case n > 0:
			l.wrote += n
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		default:
			l.werr = err
			return true
		}
	}
	return true
}
