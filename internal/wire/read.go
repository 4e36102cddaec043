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

// readOwn reads until b is complete, if b still has the claim. It gives up after a few
// milliseconds, and reports whether it has.
func (l *Lane) readOwn(ctx context.Context, b *Batch) (late bool) {
	l.mu.Lock()
	if l.reader != claimed || l.claimant != b {
		l.mu.Unlock()
		return false
	}
	l.reader = caller
	l.mu.Unlock()

	var err error
	for ended := false; !b.done && err == nil; {
		ended = l.limitOwnRead(ctx, b.call, ended)
		_, err = l.readOnce()
	}
	if err != nil && !interrupted(err) {
		l.Fail(err)
	}
	l.resign(nil)
	l.events.Answered(l)
	return interrupted(err)
}

// interrupted reports whether a read has ended at its deadline, and the connection goes on.
func interrupted(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, errWriteTimeout)
}

// limitOwnRead makes the next read end soon: the caller must notice when its
// context ends, and the context's cancellation does not interrupt a read. It
// takes half of the time that is left at most: the caller may have to read from
// other lanes, too, and a node that is silent must not cost it the replies that
// have arrived from the others. The result is to be passed to the next call.
func (l *Lane) limitOwnRead(ctx context.Context, call *Call, ended bool) bool {
	if ended {
		return true // the last look may take what is left of it
	}
	now, limit := time.Now(), ownReadMax
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, end.Sub(now)/2)
	}
	if ctx.Err() != nil || limit < 0 {
		ended, limit = true, call.ownLook(Now())
	}
	if limit == ownReadMax && l.readBy.Sub(now) > ownReadMin {
		return false
	}
	l.readBy = now.Add(limit)
	_ = l.conn.SetReadDeadline(l.readBy)
	return ended
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
	over := l.err != nil && (l.shut || !waits)
	wake := waits && !over && l.assignReaderLocked(nil, false)
	l.mu.Unlock()
	switch {
	case over:
		l.end()
	case wake:
		l.wake <- struct{}{}
	}
}

// readInBackground reads whenever it is woken up.
func (l *Lane) readInBackground() {
	defer close(l.ended)
	for {
		select {
		case <-l.wake:
			l.serve()
		case <-l.closed:
			l.leave()
			return
		}
	}
}

// serve reads for everybody until the lane has been quiet for a while.
func (l *Lane) serve() {
	l.readBy = time.Time{}
	_ = l.conn.SetReadDeadline(time.Time{})
	if l.gauge.InFlight.Load() == 0 {
		l.shrinkReads() // before it sits in an idle lane's read
	}
	for quiet := 0; ; {
		batches, err := l.readOnce()
		if batches > 0 {
			l.events.Answered(l)
		}
		if interrupted(err) && !l.isShut() { // see Watch
			_ = l.conn.SetReadDeadline(time.Time{})
			if l.gauge.InFlight.Load() == 0 {
				l.shrinkReads()
			}
			continue
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

func (l *Lane) isShut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shut
}

// leave gives up the role of the reader, which the background goroutine may
// have been given and not have taken up, for ever.
func (l *Lane) leave() {
	l.mu.Lock()
	if l.reader == background {
		l.reader = nobody
	}
	l.mu.Unlock()
	l.settle()
}

// retire gives up the role of the reader if nothing is in flight.
func (l *Lane) retire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.gauge.InFlight.Load() > 0 {
		return false
	}
	l.shrinkReads()
	l.reader = nobody
	return true
}

// deliver gives the bytes to the batches they belong to and completes those that have all their replies.
// end is the error that the read returned with the bytes; nil: none. After it, or after bytes that are no
// reply, the lane takes no more batches. It refuses them before it wakes callers, which may have their next
// batches ready.
func (l *Lane) deliver(p []byte, end error) (batches int, err error) {
	var first, last *Batch
	l.replyMu.Lock()
	for len(p) > 0 && err == nil {
		if l.oldest == nil {
			l.oldest = l.takeFIFO()
		}
		b := l.oldest
		if b == nil {
			var n int
			if n, err = l.unasked(p); err == nil {
				p = p[n:]
			}
			continue
		}
		var n int
		n, err = l.fill(b, p)
		p = p[n:]
		if err == nil && b.answered == b.Len() {
			l.oldest, b.next = b.next, nil
			b.done = true
			if b.began != 0 {
				l.stopClock(b)
			}
			if last == nil {
				first = b
			} else {
				last.next = b
			}
			last = b
			batches++
		}
	}
	l.replyMu.Unlock()
	if end = cmp.Or(err, end); end != nil && !interrupted(end) {
		l.refuse(end)
	}
	if l.gauge.InFlight.Add(-int32(batches)) == 0 {
		l.emptied()
	}
	writes := l.mayWrite(batches)
	for b := first; b != nil; {
		next := b.next
		b.next = nil
		if writes && next == nil {
			go l.write() // has its turn behind those that were woken before, and the last
		}
		l.complete(b)
		b = next
	}
	return batches, err
}

// takeFIFO takes over all that has been enqueued.
func (l *Lane) takeFIFO() *Batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.head
	l.head, l.tail = nil, nil
	return b
}

// fill gives bytes to b until it has all its replies or the bytes are used up.
func (l *Lane) fill(b *Batch, p []byte) (n int, err error) {
	stored := 0 // of p, up to here
	base := len(b.buf)
	for n < len(p) && b.answered < b.Len() {
		used, done, err := l.framer.Next(p[n:])
		n += used
		if err != nil {
			b.store(p[stored : n-used]) // the whole replies before
			return n, err
		}
		if l.framer.Aside() != 0 {
			b.store(p[stored : n-used])
			stored, base = n, len(b.buf)
			continue
		}
		if done {
			b.answer(base+n-stored, l.framer.Kind())
		}
	}
	b.store(p[stored:n])
	return n, nil
}

// unasked handles bytes that no batch waits for: only pushes are legal, with attributes in front of
// them.
func (l *Lane) unasked(p []byte) (n int, err error) {
	if n, _, err = l.framer.Next(p); err == nil && l.framer.Aside() == 0 {
		err = unasked(l.framer.Kind())
	}
	return n, err
}

func unasked(kind byte) error {
	return fmt.Errorf("%w: the server sent a reply of type %q that nobody waits for", resp.ErrProtocol, kind)
}
