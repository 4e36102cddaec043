package nodepool

import (
	"container/list"
	"fmt"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
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
	case p.FailFast && p.fullLocked():
		p.exhausted.Add(1)
		return &redislanes.ExhaustedError{Addr: p.addr, Limit: p.inUse()}
	case p.queue.Len() >= p.MaxWaiters:
		return p.tooManyWait()
	}
	return nil
}

// fullLocked reports whether all connections are in use. A caller is back before
// its connection is: those that have answered, and are about to be free, are not in
// use if there are more of them than callers that wait.
func (p *Pool) fullLocked() bool {
	if len(p.members) < p.max {
		return false
	}
	if p.shared {
		return true
	}
	free := -p.queue.Len()
	for i := 0; i < len(p.members) && free <= 0; i++ {
		if m := p.members[i]; m.state == busy && m.lane.InFlight() == 0 {
			free++
		}
	}
	return free <= 0
}

// inUse says which limit makes all connections in use. Lanes with room for batches
// have none for their bytes.
func (p *Pool) inUse() string {
	switch {
	case !p.shared:
		return p.limit(p.max, "connections in use")
	case p.room(p.set.Load()) > 0:
		return p.limit(p.maxQueued, "bytes queued on every lane") + " (MaxQueuedBytes)"
	}
	return p.limit(p.maxInFlight, "batches in flight on every lane") + " (MaxInFlight)"
}

func (p *Pool) tooManyWait() error {
	p.exhausted.Add(1)
	return &redislanes.ExhaustedError{Addr: p.addr, Limit: p.limit(p.MaxWaiters, "callers waiting")}
}

// limit says which limit was reached.
func (p *Pool) limit(n int, what string) string { return fmt.Sprintf("%d %s", n, p.ofKind(what)) }

func (p *Pool) ofKind(what string) string {
	if p.kind == kindSlow {
		what += " for slow commands"
	}
	return what
}

// waitErrorLocked says what somebody waited for in vain who is still queued.
func (p *Pool) waitErrorLocked(w *waiter, cause error) error {
	e := &redislanes.WaitError{
		Waited: time.Since(w.since), Used: p.size.inUse, Of: p.max, What: p.ofKind("in use"),
		Dialing: p.dialing, Waiting: p.queue.Len(), Cause: cause,
	}
	if p.shared {
		e.Used, e.Of, e.What = 0, p.max*p.maxInFlight, p.ofKind("in flight")
		for _, m := range p.members {
			e.Used += m.lane.InFlight()
		}
	}
	return e
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
	if p.OnWait != nil {
		p.ended = append(p.ended, waited)
	}
	return w
}

// unlock unlocks mu, then writes what was given to lanes, closes the connections
// that leave, and tells OnWait of the waits that have ended. Who may have caused
// one of these uses it in place of mu.Unlock. OnWait is last: nobody's bytes wait
// for a user's function.
func (p *Pool) unlock() {
	if len(p.flushes)+len(p.exits)+len(p.ended) == 0 {
		p.mu.Unlock()
		return
	}
	var fewLanes [8]*wire.Lane // more than that is no usual case, and may allocate
	var fewWaits [8]time.Duration
	flushes, ended, exits := append(fewLanes[:0], p.flushes...), append(fewWaits[:0], p.ended...), p.exits
	clear(p.flushes)
	p.flushes, p.ended, p.exits = p.flushes[:0], p.ended[:0], nil
	p.mu.Unlock()
	for _, lane := range flushes {
		lane.Flush()
	}
	for _, e := range exits {
		e.carryOut()
	}
	for _, wait := range ended {
		if err := p.tellOnWait(wait); err != nil {
			guard.Log(p.log, err)
		}
	}
}

func (p *Pool) tellOnWait(wait time.Duration) (err error) {
	defer guard.Catch("Options.OnWait", &err)
	p.OnWait(wait)
	return nil
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

// freeLocked gives a connection that nobody uses to the waiter at the head, or
// to the idle ones.
//
// One that is closed is given to nobody: its event is on the way, and makes the
// pool dial another one for those who wait.
func (p *Pool) freeLocked(m *member) {
	if m.spent != nil {
		p.leaveLocked(m, m.spent, false)
		return
	}
	e := p.queue.Front()
	if e == nil {
		m.becomeLocked(isIdle)
		p.idle = append(p.idle, m)
		return
	}
	w := e.Value.(*waiter)
	if w.batch == nil && m.lane.Err() == nil {
		p.removeLocked(e)
		p.lendLocked(m)
		w.lend <- lendResult{member: m}
		return
	}
	if w.batch == nil || !p.giveLocked(m.lane, w.batch, besidePing) {
		p.leaveLocked(m, wire.ErrClosed, true)
		return
	}
	p.removeLocked(e)
	m.becomeLocked(busy)
}
