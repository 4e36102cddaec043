package wire

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A relay stands before a connection that is no socket of package net, such as one of
// Dialer.NetDial. Two goroutines of its own do all reading and writing of that connection.
// So the relay keeps deadlines and closes at once, whatever the connection does, and takes
// small writes without waiting for them. A connection that does not end when it is closed
// keeps its goroutines until it does.
//
// What the relay has taken may have been sent.
type relay struct {
	net.Conn              // what has been read; one end of a net.Pipe
	conn         net.Conn // the connection
	writeTimeout time.Duration

	taken  chan struct{} // tells the writing goroutine that there is something in out
	room   chan struct{} // tells Write that out is empty
	closed chan struct{}
	once   sync.Once // closes conn

	pieces atomic.Uint64 // see progress

	mu      sync.Mutex // never held across I/O
	out     []byte     // at most relayPiece
	writeBy time.Time
	err     error // why it takes nothing more
}

// relayed returns conn if it is a socket, or else a relay before it.
func relayed(conn net.Conn, writeTimeout time.Duration) net.Conn {
	if newSocket(conn) != nil {
		return conn
	}
	near, far := net.Pipe()
	r := &relay{
		Conn: near, conn: conn, writeTimeout: writeTimeout,
		taken: make(chan struct{}, 1), room: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	go r.readFor(far)
	go r.writeOut()
	return r
}

// readFor reads, and hands on what it has read before it reads more.
func (r *relay) readFor(far net.Conn) {
	buf := make([]byte, minReadBuffer)
	for {
		n, err := r.conn.Read(buf)
		if n > 0 {
			if _, closed := far.Write(buf[:n]); closed != nil {
				return
			}
		}
		if err != nil {
			r.end(err)
			return
		}
	}
}

// writeOut writes what was taken. Each write has the write timeout for itself.
func (r *relay) writeOut() {
	late := time.AfterFunc(r.writeTimeout, func() { r.end(errWriteTimeout) })
	late.Stop()
	var buf []byte
	for {
		select {
		case <-r.taken:
		case <-r.closed:
			return
		}
		r.mu.Lock()
		buf, r.out = r.out, buf[:0]
		r.mu.Unlock()
		notify(r.room)
		if len(buf) == 0 { // the last write has taken it along
			continue
		}
		late.Reset(r.writeTimeout)
		_, err := r.conn.Write(buf)
		late.Stop()
		if err != nil { // the server may have said why before it hung up
			r.fail(err)
			time.AfterFunc(endPatience, r.shut)
			return
		}
		if len(buf) == relayPiece {
			r.pieces.Add(1)
		}
	}
}

// notify makes the next receive from the channel succeed.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// An endError is why a relay is closed. It may wrap a deadline that the connection made
// itself, or the write timeout, and is no read deadline of the lane's.
type endError struct{ error }

func (e endError) Unwrap() error { return e.error }

// interrupted reports whether a read has failed because of its deadline.
func interrupted(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && !errors.As(err, new(endError))
}

// end closes the relay because of err.
func (r *relay) end(err error) {
	r.fail(err)
	r.shut()
}

// shut ends reads, and closes the connection.
func (r *relay) shut() {
	_ = r.Conn.Close()
	r.once.Do(func() { go func() { _ = r.conn.Close() }() })
}

// fail ends writes because of err, which is why reads end, too, when they do.
func (r *relay) fail(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = endError{err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		close(r.closed)
	}
}

// Close is part of net.Conn. It does not wait for the connection's end.
func (r *relay) Close() error {
	r.end(net.ErrClosed)
	return nil
}

// ended is part of outlet.
func (r *relay) ended() (next byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return 0, r.err
}

// progress is part of outlet. It counts the full pieces that the connection has taken: an
// upload may have ended for the lane while the connection is slow to take the rest.
func (r *relay) progress() uint64 { return r.pieces.Load() }

// Read is part of net.Conn.
func (r *relay) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if _, why := r.ended(); err != nil && why != nil {
		err = why
	}
	return n, err
}

// write takes as much as there is room for; part of outlet.
func (r *relay) write(p []byte) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return 0, r.err
	}
	if n = min(len(p), relayPiece-len(r.out)); n > 0 {
		r.out = append(r.out, p[:n]...)
		notify(r.taken)
	}
	return n, nil
}

// Write takes all of p, and waits for room as long as the write deadline allows; part of
// net.Conn. A deadline that is set meanwhile is for the next write.
func (r *relay) Write(p []byte) (n int, err error) {
	n, err = r.write(p)
	if n == len(p) || err != nil {
		return n, err
	}
	var late <-chan time.Time
	r.mu.Lock()
	if !r.writeBy.IsZero() {
		timer := time.NewTimer(time.Until(r.writeBy))
		defer timer.Stop()
		late = timer.C
	}
	r.mu.Unlock()
	for n < len(p) && err == nil {
		select {
		case <-r.room:
		case <-r.closed:
		case <-late:
			return n, os.ErrDeadlineExceeded
		}
		var more int
		more, err = r.write(p[n:])
		n += more
	}
	return n, err
}

// SetWriteDeadline is part of net.Conn.
func (r *relay) SetWriteDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeBy = t
	return nil
}

// SetDeadline is part of net.Conn.
func (r *relay) SetDeadline(t time.Time) error {
	_ = r.SetWriteDeadline(t)
	return r.SetReadDeadline(t)
}

// LocalAddr is part of net.Conn.
func (r *relay) LocalAddr() net.Addr { return r.conn.LocalAddr() }

// RemoteAddr is part of net.Conn.
func (r *relay) RemoteAddr() net.Addr { return r.conn.RemoteAddr() }
