//go:build unix

package wire

import (
	"io"
	"net"
	"sync"
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
	g := glances.Get().(*glance)
	defer glances.Put(g)
	g.next[0], g.err = 0, nil
	if closed := s.raw.Control(g.take); closed != nil {
		return 0, closed
	}
	return g.next[0], g.err
}

// A glance is a look at a socket. It is used again, as connections of a pool that is not busy are
// asked before most batches.
type glance struct {
	next [1]byte
	err  error
	take func(fd uintptr) // at, as a value
}

var glances = sync.Pool{New: func() any {
	g := new(glance)
	g.take = g.at
	return g
}}

func (g *glance) at(fd uintptr) {
	n, _, err := syscall.Recvfrom(int(fd), g.next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	switch {
	case err == syscall.EAGAIN || err == syscall.EINTR:
	case err != nil:
		g.err = err
	case n <= 0 || halfClosed(fd):
		g.next[0], g.err = 0, io.EOF
	}
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
