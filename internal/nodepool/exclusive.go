package nodepool

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// exclusiveAccess gives each connection to one batch or user at a time. If none is free, they
// wait, and the connection that becomes free next goes to the first of them.
type exclusiveAccess struct {
	*Pool
	idle []*member // stack, guarded by mu: the one used last is given first
}

// submit enqueues the batch under mu, so that a late answered cannot give back a
// connection that somebody has taken meanwhile.
func (a *exclusiveAccess) submit(b *wire.Batch) (mine bool) {
	a.mu.Lock()
	for len(a.idle) > 0 && a.downErrorLocked() == nil {
		m := a.popLocked()
		if m.lane.Enqueue(b, besidePing) {
			m.becomeLocked(busy)
			a.mu.Unlock()
			a.attend()
			return true
		}
		a.leaveLocked(m, wire.ErrClosed, true) // it has failed, and its event is on the way
		a.mu.UnlockFor(b)                      // calls users' functions: b must not wait for them on a lane
		a.mu.Lock()
	}
	err := a.waitLocked(&waiter{batch: b})
	a.mu.UnlockFor(b)
	if err != nil {
		b.Fail(a.addr, err)
	}
	return false
}

// popLocked takes the idle connection that was used last. It takes one with an unanswered PING
// only if there is no other.
func (a *exclusiveAccess) popLocked() *member {
	i := len(a.idle) - 1
	for i > 0 && a.idle[i].lane.InFlight() > 0 {
		i--
	}
	if a.idle[i].lane.InFlight() > 0 {
		i = len(a.idle) - 1
	}
	m := a.idle[i]
	a.idle = slices.Delete(a.idle, i, i+1)
	return m
}

func (a *exclusiveAccess) answered(m *member) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.health.State() == health.Suspect {
		a.health.Heard(time.Now())
		a.livesLocked()
	}
	switch {
	case m.state == inDoubt:
		m.trustLocked()
	case m.state == busy && m.lane.InFlight() == 0:
		a.offerLocked(m)
	}
}

// offerLocked gives the connection to the waiter at the head, or puts it among the
// idle ones.
//
// A connection that is closed is given to nobody. Its Closed is on the way, and makes the pool
// dial another one for the waiters.
func (a *exclusiveAccess) offerLocked(m *member) {
	if m.leaveWhy != nil {
		a.leaveLocked(m, m.leaveWhy, false)
		return
	}
	w := a.queue.fast.first()
	if w == nil {
		m.becomeLocked(isIdle)
		a.idle = append(a.idle, m)
		return
	}
	if w.batch == nil && m.lane.Usable() {
		a.removeLocked(w)
		m.becomeLocked(dedicated)
		w.given <- dedicateResult{member: m}
		return
	}
	if w.batch == nil || !a.mu.giveLocked(m.lane, w.batch, besidePing) {
		a.leaveLocked(m, wire.ErrClosed, true)
		return
	}
	a.removeLocked(w)
	m.becomeLocked(busy)
}

func (a *exclusiveAccess) withdrawLocked(m *member) {
	if a.closed { // all of them leave, and none needs to be found
		a.idle = nil
		return
	}
	if i := slices.Index(a.idle, m); i >= 0 {
		a.idle = slices.Delete(a.idle, i, i+1)
	}
}

// trimLocked takes those that have been idle longest.
func (a *exclusiveAccess) trimLocked(surplus int) {
	for ; surplus > 0 && len(a.idle) > 0; surplus-- {
		a.leaveLocked(a.idle[0], errIdle, false)
	}
}

// Each connection looks for a waiter when it becomes free.
func (a *exclusiveAccess) dispatch()      {}
func (a *exclusiveAccess) changedLocked() {}
