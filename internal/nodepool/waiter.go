package nodepool

import (
	"container/list"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
)

// A waiter is a batch, or somebody who wants to be lent a connection. It
// leaves the queue under the pool's mu, so it is served, failed or abandoned,
// and never two of these.
type waiter struct {
	batch *wire.Batch
	lend  chan lendResult // capacity 1; if batch is nil
	since time.Time
	place *list.Element // in the queue; nil: it has left
}

type lendResult struct {
	member *member
	err    error
}

// waitLocked queues w, or says why it cannot wait.
func (p *Pool) waitLocked(w *waiter) error {
	if err := p.refusalLocked(); err != nil {
		return err
	}
	w.since = time.Now()
	w.place = p.queue.PushBack(w)
	if w.batch != nil {
		p.waiters[w.batch] = w
	}
	p.waiting.Add(1)
	p.counters.waits++
	p.attend()
	p.growLocked()
	return nil
}

// refusalLocked says why nobody may wait, if so.
func (p *Pool) refusalLocked() error {
	switch down := p.downErrorLocked(); {
	case p.closed || p.retired:
		return p.endedLocked()
	case down != nil:
		return down
	case p.FailFast && p.access.fullLocked():
		p.exhausted.Add(1)
		return &cause.Exhausted{Limit: p.access.limitLocked()}
	case p.queue.Len() >= p.MaxWaiters:
		return p.tooManyWait()
	}
	return nil
}

func (p *Pool) tooManyWait() error {
	p.exhausted.Add(1)
	return &cause.Exhausted{Limit: p.limit(p.MaxWaiters, "callers waiting")}
}

// limit says which limit was reached.
func (p *Pool) limit(n int, what string) string { return fmt.Sprintf("%d %s", n, p.ofKind(what)) }

func (p *Pool) ofKind(what string) string {
	if p.Kind == kindSlow {
		what += " for slow commands"
	}
	return what
}

// waitErrorLocked says what somebody waited for in vain who is still queued.
func (p *Pool) waitErrorLocked(w *waiter, err error) error {
	used, of, what := p.access.usageLocked()
	return &cause.Wait{
		Waited: time.Since(w.since), Used: used, Of: of, What: what,
		Dialing: p.dialing, Waiting: p.queue.Len(), Cause: err,
	}
}

func (p *Pool) removeLocked(e *list.Element) *waiter {
	w := p.queue.Remove(e).(*waiter)
	w.place = nil
	if w.batch != nil {
		delete(p.waiters, w.batch)
	}
	p.waiting.Add(-1)
	waited := time.Since(w.since)
	p.counters.waited += waited
	p.mu.noteWaitLocked(waited)
	return w
}

// failWaitersLocked ends all who wait. It does so under mu, so that somebody who
// leaves at the same moment finds a waiter either in the queue or ended.
func (p *Pool) failWaitersLocked(err error) {
	for e := p.queue.Front(); e != nil; e = p.queue.Front() {
		if w := p.removeLocked(e); w.batch != nil {
			w.batch.Fail(p.addr, err)
		} else {
			w.lend <- lendResult{err: wire.NotSent(p.addr, err)}
		}
	}
}
