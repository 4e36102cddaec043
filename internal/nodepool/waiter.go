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
	slow := w.batch != nil && p.isSlow(w.batch)
	if slow {
		p.wantSlowLocked()
	}
	if err := p.refusalLocked(slow); err != nil {
		return err
	}
	p.lineOf(slow).add(w)
	p.counters.waits++
	p.attend()
	p.growLocked()
	return nil
}

func (p *Pool) lineOf(slow bool) *line {
	if slow {
		return &p.queue.slow
	}
	return &p.queue.fast
}

// refusalLocked says why nobody may wait, if so.
func (p *Pool) refusalLocked(slow bool) error {
	switch down := p.downErrorLocked(); {
	case p.closed || p.retired:
		return p.endedLocked()
	case down != nil:
		return down
	case p.FailFast && p.fullLocked(slow):
		p.exhausted.Add(1)
		return cause.Exhausted(p.limitLocked(slow))
	case p.lineOf(slow).len() >= p.MaxWaiters:
		return p.tooManyWait(slow)
	}
	return nil
}

func (p *Pool) tooManyWait(slow bool) error {
	p.exhausted.Add(1)
	return cause.Exhausted(limit(p.MaxWaiters, "callers waiting", slow))
}

// limit says which limit was reached.
func limit(n int, what string, slow bool) string { return fmt.Sprint(n, " ", what, ofSlow(slow)) }

func ofSlow(slow bool) string {
	if slow {
		return " for slow commands"
	}
	return ""
}

// fullLocked reports whether all connections are in use. One that leaves is in use no
// more, and another one follows it. One that has answered and is about to be free is not
// in use, unless a caller waits for it: its own caller may be back before it is. Neither is a lane
// that only a PING of the pool fills.
func (p *Pool) fullLocked(slow bool) bool {
	if p.size.open < p.size.max {
		return false
	}
	free := -p.lineOf(slow).len()
	for i := 0; i < len(p.members) && free <= 0; i++ {
		switch m := p.members[i]; {
		case m.slow != slow:
		case m.state == busy && m.lane.InFlight() == 0,
			m.state == shared && m.lane.InFlight() >= p.MaxInFlight && m.inFlight() < p.MaxInFlight:
			free++
		}
	}
	return free <= 0
}

// limitLocked names the limit that makes the pool full. Lanes with room for batches have
// none for their bytes.
func (p *Pool) limitLocked(slow bool) string {
	hasRoom := func(m *member) bool {
		return m.slow == slow && m.state == shared && m.lane.InFlight() < p.MaxInFlight
	}
	switch {
	case !p.shared():
		return limit(p.Max, "connections in use", false)
	case slices.ContainsFunc(p.members, hasRoom):
		return limit(p.MaxQueued, "bytes queued on every lane", slow)
	}
	return limit(p.MaxInFlight, "batches in flight on every lane", slow) + " (MaxInFlight)"
}

// usageLocked says of what callers wait for one.
func (p *Pool) usageLocked(slow bool) (used, of int, what string) {
	if !p.shared() {
		return p.size.inUse, p.Max, "in use"
	}
	for _, m := range p.members {
		if m.slow == slow {
			used += m.lane.InFlight()
		}
	}
	lanes := p.Max
	if slow {
		lanes = p.SlowLanes
	}
	return used, lanes * p.MaxInFlight, "in flight" + ofSlow(slow)
}

// waitErrorLocked returns the error of a waiter that leaves the queue because of err. It says what
// the waiter waited for.
func (p *Pool) waitErrorLocked(w *waiter, err error) error {
	used, of, what := p.usageLocked(w.in == &p.queue.slow)
	return &cause.Wait{
		Waited: time.Since(w.since), Used: used, Of: of, What: what,
		Dialing: p.dialing, Waiting: w.in.len(), Failed: p.health.Failure().Err, Cause: err,
	}
}

// removeLocked takes the waiter out of the queue: its wait has ended.
func (p *Pool) removeLocked(w *waiter) {
	waited := w.in.remove(w)
	p.counters.waited += waited
	p.mu.noteWaitLocked(waited)
}

// failWaitersLocked ends all waiters. It does so under mu: a caller that leaves at the same moment
// finds its waiter either in the queue or ended.
func (p *Pool) failWaitersLocked(err error) {
	for _, l := range []*line{&p.queue.fast, &p.queue.slow} {
		for w := l.first(); w != nil; w = l.first() {
			if p.removeLocked(w); w.batch != nil {
				w.batch.Fail(p.addr, err)
			} else {
				w.given <- dedicateResult{err: wire.NotSent(p.addr, err)}
			}
		}
	}
}
