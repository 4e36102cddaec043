package nodepool

import (
	"container/list"
	"iter"
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
	place *list.Element // in the queue; nil: it has left
}

type dedicateResult struct {
	member *member
	err    error
}

// A queue is the waiters of a pool, first in, first out. It is guarded by the pool's mu, but
// for size. Make it with newQueue.
type queue struct {
	list list.List               // of *waiter
	of   map[*wire.Batch]*waiter // of the batches
	size atomic.Int32            // for goroutines without mu
}

func newQueue() queue { return queue{of: make(map[*wire.Batch]*waiter)} }

func (q *queue) len() int { return q.list.Len() }

// first returns the waiter at the head, nil if there is none.
func (q *queue) first() *waiter {
	if e := q.list.Front(); e != nil {
		return e.Value.(*waiter)
	}
	return nil
}

func (q *queue) all() iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		for e := q.list.Front(); e != nil && yield(e.Value.(*waiter)); e = e.Next() {
		}
	}
}

func (q *queue) add(w *waiter) {
	w.since = time.Now()
	w.place = q.list.PushBack(w)
	if w.batch != nil {
		q.of[w.batch] = w
	}
	q.size.Add(1)
}

// remove returns how long the waiter has waited.
func (q *queue) remove(w *waiter) time.Duration {
	q.list.Remove(w.place)
	w.place = nil
	if w.batch != nil {
		delete(q.of, w.batch)
	}
	q.size.Add(-1)
	return time.Since(w.since)
}
