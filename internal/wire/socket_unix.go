//go:build unix

package wire

import (
	"io"
	"net"
	"sync"
	"syscall"
)

// A socket is one of package net, to which can be written without waiting for room.
// One goroutine at a time may write to it. A nil socket takes nothing.
type socket struct {
	raw   syscall.RawConn
	try   func(fd uintptr) bool // tryWrite, as a value
	out   []byte
	wrote int
	err   error
}

// write hands over what is accepted at once.
func (s *socket) write(p []byte) (n int, err error) {
	if s == nil {
		return 0, nil
	}
	s.out, s.wrote, s.err = p, 0, nil
	err = s.raw.Write(s.try)
	s.out = nil
	if err == nil {
		err = s.err
	}
	return s.wrote, err
}

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
// side has closed it, or it has an error. Bytes that are to be read stay there. It may be called by many
// goroutines, beside reads and writes.
func (s *socket) ended() error {
	if s == nil {
		return nil
	}
	p := peeks.Get().(*peek)
	defer peeks.Put(p)
	p.err = nil
	if closed := s.raw.Control(p.look); closed != nil {
		return closed
	}
	return p.err
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
		p.err = io.EOF
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
