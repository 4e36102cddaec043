package nodepool

import (
	"container/list"
	"fmt"
	"slices"
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
	place *list.Element // in the queue; nil: it has left
}

type dedicateResult struct {
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
	case p.FailFast && p.fullLocked():
		p.exhausted.Add(1)
		return &cause.Exhausted{Limit: p.limitLocked()}
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

// fullLocked reports whether all connections are in use. One that leaves is in use no
// more, and another one follows it. One that has answered and is about to be free is not
// in use, unless a caller waits for it: its own caller may be back before it is.
func (p *Pool) fullLocked() bool {
	if p.size.open < p.Max && p.spareLocked() {
		return false
	}
	free := -p.queue.Len()
	for i := 0; i < len(p.members) && free <= 0; i++ {
		if m := p.members[i]; m.state == busy && m.lane.InFlight() == 0 {
			free++
		}
	}
	return free <= 0
}

// limitLocked names the limit that makes the pool full. Lanes with room for batches have
// none for their bytes.
func (p *Pool) limitLocked() string {
	hasRoom := func(m *member) bool { return m.state == shared && m.lane.InFlight() < p.MaxInFlight }
	switch {
	case !p.shared():
		return p.limit(p.Max, "connections in use")
	case slices.ContainsFunc(p.members, hasRoom):
		return p.limit(p.MaxQueued, "bytes queued on every lane") + " (MaxQueuedBytes)"
	}
	return p.limit(p.MaxInFlight, "batches in flight on every lane") + " (MaxInFlight)"
}

// usageLocked says of what callers wait for one.
func (p *Pool) usageLocked() (used, of int, what string) {
	if !p.shared() {
		return p.size.inUse, p.Max, "in use"
	}
	for _, m := range p.members {
		used += m.lane.InFlight()
	}
	return used, p.Max * p.MaxInFlight, p.ofKind("in flight")
}

// waitErrorLocked says what somebody waited for in vain who is still queued.
func (p *Pool) waitErrorLocked(w *waiter, err error) error {
	used, of, what := p.usageLocked()
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
			w.given <- dedicateResult{err: wire.NotSent(p.addr, err)}
		}
	}
}
