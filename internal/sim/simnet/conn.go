package simnet

import (
	"errors"
	"io"
	"net"
	"time"
)

// A conn is one end of a wire; its mu guards nothing of it.
type conn struct {
	wire          *wire
	in, out       *stream
	local, remote address
}

func (c *conn) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	r := &c.in.reader
	r.turn <- struct{}{}
	for {
		c.wire.mu.Lock()
		now := clock()
		n, err = c.in.readLocked(p, now)
		if r.waiting = n == 0 && err == nil; !r.waiting {
			break
		}
		c.in.wakeReaderLocked(now)
		c.wire.mu.Unlock()
		r.wait()
	}
	c.wire.mu.Unlock()
	<-r.turn
	return n, c.failure("read", err)
}

func (c *conn) Write(p []byte) (n int, err error) {
	w := &c.out.writer
	w.turn <- struct{}{}
	for {
		c.wire.mu.Lock()
		now := clock()
		var more int
		more, err = c.out.writeLocked(p[n:], now)
		n += more
		if w.waiting = n < len(p) && err == nil; !w.waiting {
			break
		}
		c.out.wakeWriterLocked(now)
		c.wire.mu.Unlock()
		w.wait()
	}
	c.wire.mu.Unlock()
	<-w.turn
	return n, c.failure("write", err)
}

func (c *conn) Close() error {
	c.wire.mu.Lock()
	if c.in.deaf {
		c.wire.mu.Unlock()
		return c.failure("close", net.ErrClosed)
	}
	c.closeLocked(clock())
	last := c.out.deaf
	c.wire.mu.Unlock()
	if last {
		c.wire.network.forget(c.wire)
	}
	return nil
}

// closeLocked sends the other end, behind all that was written, the end, or a
// reset if there was something unread.
func (c *conn) closeLocked(now int64) {
	in, out := c.in, c.out
	in.advanceLocked(now)
	in.deaf = true
	if !out.lost && !in.broken {
		at := out.arrivalLocked(now, 0)
		if in.arrived > in.taken {
			out.rst = min(out.rst, at)
		} else {
			out.fin = at
		}
	}
	if in.first < len(in.marks) && !in.lost {
		in.unheard = true
		in.rejectLocked(now, in.marks[in.first].at)
	}
	if h := c.wire.hangUp; h != nil && c == c.wire.server {
		h.Stop()
	}
	c.wire.pokeLocked(now)
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	return c.setDeadlines("set", t, &c.in.readBy, &c.out.writeBy)
}
func (c *conn) SetReadDeadline(t time.Time) error  { return c.setDeadlines("set", t, &c.in.readBy) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines("set", t, &c.out.writeBy) }

func (c *conn) setDeadlines(op string, t time.Time, deadlines ...*int64) error {
	at := int64(never)
	if !t.IsZero() {
		at = t.UnixNano()
	}
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	if c.in.deaf {
		return c.failure(op, net.ErrClosed)
	}
	for _, d := range deadlines {
		*d = at
	}
	now := clock()
	c.in.wakeReaderLocked(now)
	c.out.wakeWriterLocked(now)
	return nil
}

// failure returns err as package net does.
func (c *conn) failure(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// A timeless connection knows no deadlines, as a channel of SSH.
type timeless struct{ *conn }

func (timeless) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (timeless) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (timeless) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }
