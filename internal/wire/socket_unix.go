//go:build unix

package wire

import (
	"io"
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

// ended returns why the socket is of no use, nil if nothing is known against it: the other
// side has closed it, or it has an error. Bytes that are to be read stay there. It returns the first
// of them, 0 if there is none. It may be called by many goroutines, beside reads and writes.
func (s *socket) ended() (next byte, err error) {
	closed := s.raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, failed := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case failed == syscall.EAGAIN || failed == syscall.EINTR:
		case failed != nil:
			err = failed
		case n <= 0 || halfClosed(fd):
			err = io.EOF
		default:
			next = one[0]
		}
	})
	if err == nil {
		err = closed
	}
	return next, err
}

// tryWrite writes once. It always returns true, so that RawConn.Write does not
// wait for a socket that accepts nothing.
func (s *socket) tryWrite(fd uintptr) bool {
	for s.wrote < len(s.out) {
		n, err := syscall.Write(int(fd), s.out[s.wrote:min(len(s.out), s.wrote+maxSyscall)])
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
