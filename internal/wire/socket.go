package wire

import (
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A socket is one of package net, to which can be written without waiting for room.
// One goroutine at a time may write to it.
type socket struct {
	raw   syscall.RawConn
	try   func(fd uintptr) bool // tryWrite, as a value
	out   []byte
	wrote int
	err   error
}

// write hands over what is accepted at once.
func (s *socket) write(p []byte) (n int, err error) {
	s.out, s.wrote, s.err = p, 0, nil
	err = s.raw.Write(s.try)
	s.out = nil
	if err == nil {
		err = s.err
	}
	return s.wrote, err
}

// An outlet takes what is written as far as there is room for it, without waiting: a
// socket or a relay.
type outlet interface {
	// write returns how much of p it has taken. One goroutine at a time may call it.
	write(p []byte) (n int, err error)
	// ended returns why the connection is of no use, nil if nothing is known against it, and the
	// byte that is to be read next; 0 if none is, or if that is not known.
	ended() (next byte, err error)
}

// outletOf returns the outlet of what relayed has returned.
func outletOf(conn net.Conn) outlet {
	if r, ok := conn.(*relay); ok {
		return r
	}
	return newSocket(conn)
}

// A tlsSocket is the outlet below a TLS connection. What TLS makes of a lane's bytes
// it hands over as far as that is accepted at once, and keeps the rest for flush: a
// write to the TLS connection never waits for room, so that callers can do it.
type tlsSocket struct {
	net.Conn
	shared bool // by a lane, which flushes; before, writes wait

	// mu is never held while a write waits. TLS writes one record after another, but
	// also from its Read and its Close.
	mu       sync.Mutex
	socket   outlet
	rest     []byte
	flushing bool
}

// belowTLS returns what a TLS connection is to use instead of conn.
func belowTLS(conn net.Conn) net.Conn { return &tlsSocket{Conn: conn, socket: outletOf(conn)} }

// outletsOf returns what a lane writes to: secure over TLS, or else plain. From now on
// secure does not wait for room.
func outletsOf(conn net.Conn) (plain outlet, secure *tlsSocket) {
	if c, ok := conn.(*tls.Conn); ok {
		secure = c.NetConn().(*tlsSocket)
		secure.shared = true
		return nil, secure
	}
	return outletOf(conn), nil
}

// Write takes all of p.
func (s *tlsSocket) Write(p []byte) (n int, err error) {
	if !s.shared {
		return s.Conn.Write(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.flushing && len(s.rest) == 0 {
		if n, err = s.socket.write(p); err != nil {
			return n, err
		}
	}
	s.rest = append(s.rest, p[n:]...)
	return len(p), nil
}

// full reports whether something waits for room.
func (s *tlsSocket) full() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushing || len(s.rest) > 0
}

// flush writes what waits for room. Only the lane's writer may call it.
func (s *tlsSocket) flush() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushing = true
	for len(s.rest) > 0 && err == nil {
		rest := s.rest
		s.rest = nil
		s.mu.Unlock()
		_, err = s.Conn.Write(rest)
		s.mu.Lock()
	}
	s.flushing = false
	return err
}

// limitUnacknowledged returns a net.Dialer.Control for that, where the kernel knows it. What
// it cannot set is left as it is.
func limitUnacknowledged(writeTimeout time.Duration) func(network, addr string, raw syscall.RawConn) error {
	limit := max(LongestPause, writeTimeout)
	return func(network, _ string, raw syscall.RawConn) error {
		if strings.HasPrefix(network, "tcp") {
			_ = raw.Control(func(fd uintptr) { setUserTimeout(fd, limit) })
		}
		return nil
	}
}
