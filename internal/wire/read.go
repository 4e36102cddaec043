package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
)

var errNotACommand = fmt.Errorf("redislanes: the request is not a sequence of whole commands: %w", redislanes.ErrNotSent)

// One goroutine at a time has the role of the reader, and reads for all batches that are in flight. A
// caller that has the claim reads until its own batch is complete, for ownReadMax or half of the time
// that its context has left. The background goroutine reads all else, until the lane falls quiet.

// An intake is what the reader reads into. Only the holder of the role touches it and the read deadline.
type intake struct {
	buf    []byte
	framer *resp.Framer
	until  time.Time // the read deadline that is set
}

// readOwn reads until b is complete, if b still has the claim. It gives up after a few milliseconds, and
// reports whether it has. Each read ends soon: the caller must notice when its context ends, and the context's
// cancellation does not interrupt a read. It takes half of the time that is left at most: the caller may have
// to read from other lanes, too.
func (l *Lane) readOwn(ctx context.Context, b *Batch) (late bool) {
	l.mu.Lock()
	if l.reader != claimed || l.claimant != b {
		l.mu.Unlock()
		return false
	}
	l.reader = caller
	l.mu.Unlock()

	for b.phase == underWay && !late {
		now, limit := time.Now(), ownReadMax
		if end, ok := ctx.Deadline(); ok {
			limit = min(limit, end.Sub(now)/2)
		}
		if limit <= 0 || ctx.Err() != nil {
			late = true
			break
		}
		if limit < ownReadMax || l.in.until.Sub(now) <= ownReadMin {
			l.in.until = now.Add(limit)
			_ = l.conn.SetReadDeadline(l.in.until)
		}
		if _, err := l.readOnce(); err != nil {
			if late = interrupted(err); !late {
				l.Fail(err)
				break
			}
		}
	}
	l.resign(nil)
	l.Events.Answered(l)
	return late
}

// interrupted reports whether a read has ended at its deadline, and the connection goes on.
func interrupted(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, errWriteTimeout)
}

// resign gives up the role of the reader, or the given claim on it if that is not lost yet. The
// background goroutine takes over if batches wait for replies and the lane is not closed.
func (l *Lane) resign(claim *Batch) {
	l.mu.Lock()
	if claim != nil && (l.reader != claimed || l.claimant != claim) {
		l.mu.Unlock()
		return
	}
	l.reader, l.claimant = nobody, nil
	waits := l.gauge.InFlight.Load() > 0
	over := l.state >= shut || l.state == failed && !waits
	wake := waits && !over && l.assignReaderLocked(nil, false)
	l.mu.Unlock()
	switch {
	case over:
		l.end()
	case wake:
		notify(l.wake)
	}
}

// readInBackground reads whenever it has the role of the reader, until the lane is shut.
func (l *Lane) readInBackground() {
	defer close(l.ended)
	for range l.wake {
		l.mu.Lock()
		mine, over := l.reader == background, l.state >= shut
		if mine && over {
			l.reader = nobody
		}
		l.mu.Unlock()
		switch {
		case over:
			l.settle()
			return
		case mine:
			l.serve()
		}
	}
}

// serve reads for everybody until the lane has been quiet for a while.
func (l *Lane) serve() {
	l.in.until = time.Time{}
	_ = l.conn.SetReadDeadline(time.Time{})
	for quiet := 0; ; {
		batches, err := l.readOnce()
		if batches > 0 {
			l.Events.Answered(l)
		}
		if err != nil {
			l.Fail(err)
			l.resign(nil)
			return
		}
		if quiet++; batches > 1 || l.gauge.InFlight.Load() > 0 {
			quiet = 0
		}
		if quiet >= quietReads && l.retire() {
			return
		}
	}
}

// retire gives up the role of the reader if nothing is in flight.
func (l *Lane) retire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state >= failed || l.gauge.InFlight.Load() > 0 {
		return false
	}
	l.reader = nobody
	return true
}

// readOnce reads once and delivers. It returns how many batches it completed. A bulk string of which much is
// missing is read straight into the memory of its batch, with as few system calls as the socket allows: a
// fifth of the CPU that it costs through the lane's buffer. Everything else goes through that buffer, which
// grows while reads fill it.
func (l *Lane) readOnce() (batches int, err error) {
	in := &l.in
	if in.framer.Bulk() >= minReadBuffer {
		if b, space := l.bulkSpace(); b != nil {
			n, err := l.conn.Read(space)
			if n > 0 {
				l.progress.Add(1)
				err = cmp.Or(l.tookBulk(b, n), err)
			}
			return 0, err
		}
	}
	n, err := l.conn.Read(in.buf)
	if n > 0 {
		l.progress.Add(1)
		var bad error
		if batches, bad = l.deliver(in.buf[:n], err); bad != nil {
			return batches, bad
		}
		if n == len(in.buf) && n < maxReadBuffer {
			in.buf = make([]byte, 2*n)
		}
	}
	return batches, err
}

// bulkSpace returns the oldest batch and where in its memory the next bytes
// belong, if they are all of one bulk string; else nil. The memory is behind
// what the batch has of replies, so that its caller may leave meanwhile.
func (l *Lane) bulkSpace() (*Batch, []byte) {
	if l.in.framer.Aside() != 0 {
		return nil, nil
	}
	left := l.in.framer.Bulk()
	l.replyMu.Lock()
	defer l.replyMu.Unlock()
	b := l.oldest
	if b == nil || b.phase == abandoned {
		return nil, nil
	}
	have := len(b.buf)
	if need := have + int(min(left, int64(max(growAtOnce, have)))) + len("\r\n"); cap(b.buf) < need {
		grown := make([]byte, have, max(need, have+have/2)) // so that many replies are not copied for each
		copy(grown, b.buf)
		b.buf = grown
	}
	return b, b.buf[have:min(int64(cap(b.buf)), int64(have)+left)]
}

// tookBulk takes over n bytes that were read into bulkSpace.
func (l *Lane) tookBulk(b *Batch, n int) error {
	l.replyMu.Lock()
	defer l.replyMu.Unlock()
	if l.oldest == b && b.phase != abandoned { // or else the lane was settled meanwhile
		b.buf = b.buf[:len(b.buf)+n]
	}
	return l.in.framer.Skip(n)
}

// deliver gives the bytes to the batches they belong to and completes those that have all their replies.
// end is the error that the read returned with the bytes; nil: none. After it, or after bytes that are no
// reply, the lane takes no more batches. It refuses them before it wakes callers, which may have their next
// batches ready.
func (l *Lane) deliver(p []byte, end error) (batches int, err error) {
	var complete fifo
	now := Now() // one reading of the clock for all batches of the read
	l.replyMu.Lock()
	for len(p) > 0 && err == nil {
		if l.oldest == nil {
			l.mu.Lock()
			l.oldest, l.queue = l.queue.head, fifo{}
			l.mu.Unlock()
		}
		b, n := l.oldest, 0
		if b == nil {
			n, err = l.in.unasked(p)
			p = p[n:]
			continue
		}
		n, err = l.in.fill(b, p)
		p = p[n:]
		if err == nil && b.answered == b.Len() {
			l.oldest, b.next = b.next, nil
			b.phase = max(b.phase, ended)
			if b.began != 0 {
				l.pace.stop(b, now)
			}
			complete.add(b)
			batches++
		}
	}
	l.replyMu.Unlock()
	if end = cmp.Or(err, end); end != nil && interrupted(end) {
		end = nil
	}
	if l.gauge.InFlight.Add(-int32(batches)) == 0 {
		l.restedAt.Store(int64(now))
	}
	writes := l.delivered(batches, end)
	for b := complete.head; b != nil; {
		next := b.next
		b.next = nil
		if writes && next == nil {
			go l.Flush() // has its turn behind those that were woken before, and the last
		}
		b.call.complete(b, now)
		b = next
	}
	return batches, err
}

// delivered is told of so many batches that have all their replies, and of the end of the stream. It gives the
// reader the role of the writer if nobody has it and what waits is to be written now. A lane that drains
// fails if nothing is in flight any more.
func (l *Lane) delivered(batches int, end error) (writes bool) {
	if batches == 0 && end == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if end != nil {
		l.failLocked(end) // the reader closes the connection
	}
	if l.state == draining && l.gauge.InFlight.Load() == 0 {
		l.state = failed
		go l.end()
	}
	writes = !l.writing && l.state < failed && l.gatheredLocked()
	l.writing = l.writing || writes
	return writes
}

// fill gives bytes to b until it has all its replies or the bytes are used up. They are kept unless its caller has
// left.
func (in *intake) fill(b *Batch, p []byte) (n int, err error) {
	stored := 0 // of p, up to here
	base, kept := len(b.buf), b.phase != abandoned
	for n < len(p) && b.answered < b.Len() && err == nil {
		used, done := 0, false
		used, done, err = in.framer.Next(p[n:])
		switch {
		case err != nil || in.framer.Aside() != 0: // what is before it is whole
			if kept {
				b.buf = append(b.buf, p[stored:n]...)
			}
			stored, base = n+used, len(b.buf)
		case done:
			if b.answered++; kept {
				b.replies = append(b.replies, base+n+used-stored)
				if kind := in.framer.Kind(); kind == '-' || kind == '!' {
					b.errors++
				}
			}
		}
		n += used
	}
	if kept {
		b.buf = append(b.buf, p[stored:n]...)
	}
	return n, err
}

// unasked takes bytes that no batch waits for: only pushes are legal, with attributes in front of them.
func (in *intake) unasked(p []byte) (n int, err error) {
	if n, _, err = in.framer.Next(p); err == nil && in.framer.Aside() == 0 {
		err = fmt.Errorf("%w: the server sent a reply of type %q that nobody waits for", resp.ErrProtocol, in.framer.Kind())
	}
	return n, err
}
