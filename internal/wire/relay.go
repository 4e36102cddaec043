package wire

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
)

// A relay stands before a connection that is no socket of package net, such as one of
// Dialer.NetDial. A goroutine of its own writes to that connection, so that small writes do not wait
// for it. A write that hangs for longer than the write timeout closes the connection. So does a
// panic of the connection.
//
// What the relay has taken may have been sent.
type relay struct {
	net.Conn
	writeTimeout time.Duration

	taken  chan struct{} // tells the writing goroutine that there is something in out
	room   chan struct{} // tells Write that out is empty
	closed chan struct{}

	mu  sync.Mutex // never held across I/O
	out []byte     // at most relayPiece
	err error      // why it takes nothing more
}

// relayed returns conn if it is a socket, or else a relay before it.
func relayed(conn net.Conn, writeTimeout time.Duration) net.Conn {
	if newSocket(conn) != nil {
		return conn
	}
	r := &relay{
		Conn: conn, writeTimeout: writeTimeout,
		taken: make(chan struct{}, 1), room: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	go r.writeOut()
	return r
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
		err := r.writeAll(buf)
		late.Stop()
		if err != nil { // the server may have said why before it hung up
			r.fail(err)
			time.AfterFunc(endPatience, func() { r.end(err) })
			return
		}
	}
}

func (r *relay) writeAll(p []byte) (err error) {
	defer guard.Catch("Write of a connection of Dialer.NetDial", &err)
	_, err = r.Conn.Write(p)
	return err
}

// notify makes the next receive from the channel succeed.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fail ends writes because of err, which is why reads end, too, when they do.
func (r *relay) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		close(r.closed)
	}
}

// end closes the connection because of err.
func (r *relay) end(err error) {
	r.fail(err)
	defer guard.Catch("Close of a connection of Dialer.NetDial", &err)
	_ = r.Conn.Close()
}

// Close is part of net.Conn.
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

// Read is part of net.Conn.
func (r *relay) Read(p []byte) (n int, err error) {
	n, err = r.readOnce(p)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if _, why := r.ended(); why != nil {
		err = why
	}
	return n, err
}

func (r *relay) readOnce(p []byte) (n int, err error) {
	defer guard.Catch("Read of a connection of Dialer.NetDial", &err)
	return r.Conn.Read(p)
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

// Write takes all of p, and waits for room; part of net.Conn.
func (r *relay) Write(p []byte) (n int, err error) {
	for {
		more, err := r.write(p[n:])
		if n += more; n == len(p) || err != nil {
			return n, err
		}
		select {
		case <-r.room:
		case <-r.closed:
		}
	}
}

// SetWriteDeadline is part of net.Conn. Writes have the write timeout.
func (r *relay) SetWriteDeadline(time.Time) error { return nil }
