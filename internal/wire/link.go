package wire

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
)

// A link is a lane's connection, to which callers write without waiting for room, and goroutines the rest.
// One goroutine at a time may write.
type link struct {
	net.Conn
	socket    *socket    // below TLS or not; nil: it is no socket of package net
	secure    *tlsSocket // nil: no TLS
	timeout   time.Duration
	keepsTime bool // it knows read deadlines, without which no caller may read
}

// newLink returns the link of a connection that may have been used before. From now on TLS does not wait for room.
func newLink(conn net.Conn, writeTimeout time.Duration) link {
	k := link{Conn: conn, timeout: writeTimeout, keepsTime: conn.SetReadDeadline(time.Time{}) == nil}
	if c, ok := conn.(*tls.Conn); ok {
		k.secure = c.NetConn().(*tlsSocket)
		k.secure.shared = true
		k.socket = k.secure.socket
	} else {
		k.socket = newSocket(conn)
	}
	return k
}

// full reports whether something waits for room.
func (k *link) full() bool { return k.secure != nil && k.secure.full() }

// writeSecure hands over what is accepted at once below TLS.
func (k *link) writeSecure(buf []byte) (n int, err error) {
	for n < len(buf) && err == nil && !k.secure.full() {
		to := min(n+writePiece, len(buf))
		_, err = k.Conn.Write(buf[n:to])
		n = to // TLS may have sent more than it says
	}
	return n, err
}

// writePiece writes one piece of buf, or what waits for room before it.
func (k *link) writePiece(buf []byte) (n int, err error) {
	_ = k.SetWriteDeadline(time.Now().Add(k.timeout))
	if k.full() {
		return 0, k.secure.flush()
	}
	buf = buf[:min(writePiece, len(buf))]
	if n, err = k.Conn.Write(buf); k.secure != nil || k.socket == nil {
		n = len(buf) // TLS, or a connection of a user's, may have sent more than it says
	}
	return n, err
}

// A tlsSocket is what a TLS connection uses instead of the one below it. What TLS makes of a lane's bytes
// it hands over as far as that is accepted at once, and keeps the rest for flush: a
// write to the TLS connection never waits for room, so that callers can do it.
type tlsSocket struct {
	net.Conn
	socket *socket
	shared bool // by a lane, which flushes; before, writes wait

	// mu is never held while a write waits. TLS writes one record after another, but
	// also from its Read and its Close.
	mu       sync.Mutex
	rest     []byte
	flushing bool
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

// A guarded connection is one that is no socket of package net, such as one of Dialer.NetDial. A panic of
// it is its error. A write that hangs for longer than the write timeout closes it.
type guarded struct {
	net.Conn
	timeout time.Duration
	late    *time.Timer // closes it
	hung    atomic.Bool // so late has
}

// guardedConn returns conn if it is a socket, or else guards it.
func guardedConn(conn net.Conn, writeTimeout time.Duration) net.Conn {
	if newSocket(conn) != nil {
		return conn
	}
	g := &guarded{Conn: conn, timeout: writeTimeout}
	g.late = time.AfterFunc(writeTimeout, func() {
		g.hung.Store(true)
		_ = g.Close()
	})
	g.late.Stop()
	return g
}

// SetReadDeadline is part of net.Conn.
func (g *guarded) SetReadDeadline(t time.Time) (err error) {
	defer guard.Catch("SetReadDeadline of a connection of Dialer.NetDial", &err)
	return g.Conn.SetReadDeadline(t)
}

// SetWriteDeadline does nothing: a write that hangs ends by the write timeout.
func (g *guarded) SetWriteDeadline(time.Time) error { return nil }

// Read is part of net.Conn.
func (g *guarded) Read(p []byte) (n int, err error) {
	defer g.why(&err)
	defer guard.Catch("Read of a connection of Dialer.NetDial", &err)
	return g.Conn.Read(p)
}

// Write is part of net.Conn. One goroutine at a time may call it.
func (g *guarded) Write(p []byte) (n int, err error) {
	g.late.Reset(g.timeout)
	defer g.why(&err)
	defer g.late.Stop()
	defer guard.Catch("Write of a connection of Dialer.NetDial", &err)
	return g.Conn.Write(p)
}

// why makes the error that of a write that has hung, if one has.
func (g *guarded) why(err *error) {
	if *err != nil && g.hung.Load() {
		*err = errWriteTimeout
	}
}

// Close is part of net.Conn.
func (g *guarded) Close() (err error) {
	defer guard.Catch("Close of a connection of Dialer.NetDial", &err)
	return g.Conn.Close()
}
