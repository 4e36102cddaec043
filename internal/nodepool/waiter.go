package nodepool

import (
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
)

// waitLocked queues w, or says why it cannot wait.
func (p *Pool) waitLocked(w *waiter) error {
	if err := p.refusalLocked(); err != nil {
		return err
	}
	p.queue.add(w)
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
	case p.queue.len() >= p.MaxWaiters:
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
// in use, unless a caller waits for it: its own caller may be back before it is. Neither is a lane
// that only a PING of the pool fills.
func (p *Pool) fullLocked() bool {
	if p.size.open < p.Max && p.spareLocked() {
		return false
	}
	free := -p.queue.len()
	for i := 0; i < len(p.members) && free <= 0; i++ {
		switch m := p.members[i]; {
		case m.state == busy && m.lane.InFlight() == 0,
			m.state == shared && m.lane.InFlight() >= p.MaxInFlight && m.inFlight() < p.MaxInFlight:
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

// waitErrorLocked returns the error of a waiter that leaves the queue because of err. It says what
// the waiter waited for.
func (p *Pool) waitErrorLocked(w *waiter, err error) error {
	used, of, what := p.usageLocked()
	return &cause.Wait{
		Waited: time.Since(w.since), Used: used, Of: of, What: what,
		Dialing: p.dialing, Waiting: p.queue.len(), Failed: p.health.Failure().Err, Cause: err,
	}
}

// removeLocked takes the waiter out of the queue: its wait has ended.
func (p *Pool) removeLocked(w *waiter) {
	waited := p.queue.remove(w)
	p.counters.waited += waited
	p.mu.noteWaitLocked(waited)
}

// failWaitersLocked ends all waiters. It does so under mu: a caller that leaves at the same moment
// finds its waiter either in the queue or ended.
func (p *Pool) failWaitersLocked(err error) {
	for w := p.queue.first(); w != nil; w = p.queue.first() {
		if p.removeLocked(w); w.batch != nil {
			w.batch.Fail(p.addr, err)
		} else {
			w.given <- dedicateResult{err: wire.NotSent(p.addr, err)}
		}
	}
}
