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

	in           *queue // nil: it has left
	before, next *waiter
}

type dedicateResult struct {
	member *member
	err    error
}

// A queue is the waiters of a pool, first in, first out, each linked to its neighbours. It is
// guarded by the pool's mu, but for size.
type queue struct {
	head, tail *waiter
	size       atomic.Int32 // for goroutines without mu, too
}

func (q *queue) len() int { return int(q.size.Load()) }

// first returns the waiter at the head, nil if there is none.
func (q *queue) first() *waiter { return q.head }

// of returns the batch's waiter, nil if the batch does not wait here.
func (q *queue) of(b *wire.Batch) *waiter {
	if w, ok := b.Waiter.(*waiter); ok && w.in == q {
		return w
	}
	return nil
}

func (q *queue) add(w *waiter) {
	w.since = time.Now()
	w.in, w.before = q, q.tail
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	if w.batch != nil {
		w.batch.Waiter = w
	}
	q.size.Add(1)
}

// remove returns how long the waiter has waited. A batch that a lane has taken is its caller's
// again and may be in use for other commands.
func (q *queue) remove(w *waiter) time.Duration {
	if w.before == nil {
		q.head = w.next
	} else {
		w.before.next = w.next
	}
	if w.next == nil {
		q.tail = w.before
	} else {
		w.next.before = w.before
	}
	w.in, w.before, w.next = nil, nil, nil
	q.size.Add(-1)
	return time.Since(w.since)
}
