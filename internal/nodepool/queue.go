package nodepool

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
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

// A queue is the waiters of a pool: those for the lanes for slow commands, and all others. It is guarded
// by the pool's mu.
type queue struct {
	fast, slow line
	waits      uint64                   // that have begun
	waited     time.Duration            // in those that have ended
	tell       func(wait time.Duration) // how long each has waited
}

func (q *queue) len() int { return q.fast.len() + q.slow.len() }

func (q *queue) lineOf(slow bool) *line {
	if slow {
		return &q.slow
	}
	return &q.fast
}

// of returns the batch's waiter, nil if the batch does not wait here.
func (q *queue) of(b *wire.Batch) *waiter {
	if w, ok := b.Waiter.(*waiter); ok && (w.in == &q.fast || w.in == &q.slow) {
		return w
	}
	return nil
}

// remove takes the waiter out of the queue: its wait has ended.
func (q *queue) remove(w *waiter) {
	waited := time.Since(w.since)
	w.in.remove(w)
	q.waited += waited
	q.tell(waited)
}

// fail ends all waiters. It does so under mu: a caller that leaves at the same moment
// finds its waiter either in the queue or ended.
func (q *queue) fail(addr string, err error) {
	for _, l := range []*line{&q.fast, &q.slow} {
		for w := l.head; w != nil; w = l.head {
			if q.remove(w); w.batch != nil {
				w.batch.Fail(addr, err)
			} else {
				w.given <- dedicateResult{err: wire.NotSent(addr, err)}
			}
		}
	}
}

// A line is waiters, first in, first out, each linked to its neighbours.
type line struct {
	head, tail *waiter
	size       atomic.Int32 // for goroutines without mu, too
}

func (l *line) len() int { return int(l.size.Load()) }

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

func (l *line) remove(w *waiter) {
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
}

// waitLocked queues w, or says why it cannot wait.
func (p *Pool) waitLocked(w *waiter, slow bool) error {
	if err := p.refusalLocked(slow); err != nil {
		return err
	}
	p.queue.lineOf(slow).add(w)
	p.queue.waits++
	p.attend()
	p.dials.growLocked()
	return nil
}

// refusalLocked says why nobody may wait, if so.
func (p *Pool) refusalLocked(slow bool) error {
	switch down := p.downErrorLocked(); {
	case p.ended != nil:
		return p.ended
	case down != nil:
		return down
	case p.FailFast && p.fullLocked(slow):
		p.exhausted.Add(1)
		if p.shared() {
			what := fmt.Sprintf("batches in flight on every lane%s, or %d bytes queued", ofSlow(slow), p.MaxQueued)
			return cause.Exhausted(fmt.Sprint(p.MaxInFlight, " ", what))
		}
		return cause.Exhausted(fmt.Sprint(p.Max, " connections in use"))
	case p.queue.lineOf(slow).len() >= p.MaxWaiters:
		return p.tooManyWait(slow)
	}
	return nil
}

func (p *Pool) tooManyWait(slow bool) error {
	p.exhausted.Add(1)
	return cause.Exhausted(fmt.Sprint(p.MaxWaiters, " callers waiting", ofSlow(slow)))
}

func ofSlow(slow bool) string {
	if slow {
		return " for slow commands"
	}
	return ""
}

// fullLocked reports whether all connections are in use. One that leaves is in use no
// more, and another one follows it. One that has answered and is about to be free is not
// in use, unless a caller waits for it: its own caller may be back before it is.
func (p *Pool) fullLocked(slow bool) bool {
	free := -p.queue.lineOf(slow).len()
	for _, m := range p.members {
		if m.state == busy && m.lane.InFlight() == 0 {
			free++
		}
	}
	return free <= 0 && p.size.open >= p.size.max
}

// waitErrorLocked returns the error of a waiter that leaves the queue because of err. It says what
// the waiter waited for.
func (p *Pool) waitErrorLocked(w *waiter, err error) error {
	wait := &cause.Wait{
		Waited: time.Since(w.since), Used: p.size.inUse, Of: p.Max, What: "in use",
		Dialing: p.dials.underWay, Waiting: w.in.len(), Failed: p.health.Failure().Err, Cause: err,
	}
	if p.shared() {
		slow, lanes := w.in == &p.queue.slow, p.Max
		if slow {
			lanes = p.SlowLanes
		}
		wait.Used, wait.Of, wait.What = 0, lanes*p.MaxInFlight, "in flight"+ofSlow(slow)
		for _, m := range p.members {
			if m.slow == slow {
				wait.Used += m.lane.InFlight()
			}
		}
	}
	return wait
}
