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
	p := peeks.Get().(*peek)
	defer peeks.Put(p)
	p.next[0], p.err = 0, nil
	if closed := s.raw.Control(p.look); closed != nil {
		return 0, closed
	}
	return p.next[0], p.err
}

// A peek is a look at what comes next on a socket. It is used again, so that a look takes no
// new memory: the idle connections of a large pool are asked before most of their batches.
type peek struct {
	next [1]byte
	err  error
	look func(fd uintptr) // at, as a value
}

var peeks = sync.Pool{New: func() any {
	p := new(peek)
	p.look = p.at
	return p
}}

func (p *peek) at(fd uintptr) {
	n, _, err := syscall.Recvfrom(int(fd), p.next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	switch {
	case err == syscall.EAGAIN || err == syscall.EINTR:
	case err != nil:
		p.err = err
	case n <= 0:
		p.next[0], p.err = 0, io.EOF
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
