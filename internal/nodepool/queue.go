package nodepool

import (
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/wire"
)

// A waiter is a batch, or a user that waits for a dedicated connection. It
// leaves the queue under the pool's mu, so it is served, failed or abandoned,
// and never two of these.
type waiter struct {
	batch *wire.Batch
	given chan dedicateResult // capacity 1; if batch is nil
	since time.Time

	in           *line // nil: it has left
	before, next *waiter
}

type dedicateResult struct {
	member *member
	err    error
}

// A queue is the waiters of a pool: those for the lanes for slow commands, and all others.
type queue struct{ fast, slow line }

func (q *queue) len() int { return q.fast.len() + q.slow.len() }

// of returns the batch's waiter, nil if the batch does not wait here.
func (q *queue) of(b *wire.Batch) *waiter {
	if w, ok := b.Waiter.(*waiter); ok && (w.in == &q.fast || w.in == &q.slow) {
		return w
	}
	return nil
}

// A line is waiters, first in, first out, each linked to its neighbours. It is guarded by the
// pool's mu, except size.
type line struct {
	head, tail *waiter
	size       atomic.Int32 // for goroutines without mu, too
}

func (l *line) len() int { return int(l.size.Load()) }

// first returns the waiter at the head, nil if there is none.
func (l *line) first() *waiter { return l.head }

func (l *line) add(w *waiter) {
	w.since = time.Now()
	w.in, w.before = l, l.tail
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
	if w.batch != nil {
		w.batch.Waiter = w
	}
	l.size.Add(1)
}

// remove returns how long the waiter has waited. A batch that a lane has taken is its caller's
// again and may be in use for other commands.
func (l *line) remove(w *waiter) time.Duration {
	if w.before == nil {
		l.head = w.next
	} else {
		w.before.next = w.next
	}
	if w.next == nil {
		l.tail = w.before
	} else {
		w.next.before = w.before
	}
	w.in, w.before, w.next = nil, nil, nil
	l.size.Add(-1)
	return time.Since(w.since)
}
