//go:build unix

package wire

import (
	"net"
	"syscall"
)

// newSocket returns the socket that conn is, nil if it is something else.
func newSocket(conn net.Conn) *socket {
	var raw syscall.RawConn
	var err error
	switch c := conn.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	s := &socket{raw: raw}
	s.try = s.tryWrite
	return s
}

// tryWrite writes once. It always returns true, so that RawConn.Write does not
// wait for a socket that accepts nothing.
func (s *socket) tryWrite(fd uintptr) bool {
	for s.wrote < len(s.out) {
		n, err := syscall.Write(int(fd), s.out[s.wrote:])
		switch {
		case n > 0:
			s.wrote += n
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		default:
			s.err = err
			return true
		}
	}
	return true
}
