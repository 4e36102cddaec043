package nodepool

import (
	"context"
	"slices"

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
	for m := a.popLocked(); m != nil; m = a.popLocked() {
		if ok, _ := m.lane.Enqueue(b, besidePing, true); ok {
			m.becomeLocked(busy)
			a.mu.Unlock()
			a.attend()
			return true
		}
		a.leaveLocked(m, wire.ErrClosed, true) // it has failed, and its event is on the way
		a.mu.UnlockFor(b)                      // calls users' functions: b must not wait for them on a lane
		a.mu.Lock()
	}
	err := a.waitLocked(&waiter{batch: b}, false)
	a.mu.UnlockFor(b)
	if err != nil {
		b.Fail(a.addr, err)
	}
	return false
}

// popLocked takes the idle connection that was used last; nil if there is none. It prefers one that is
// not slow, and then one without an unanswered PING.
func (a *exclusiveAccess) popLocked() *member {
	best, least := -1, 4
	for i := len(a.idle) - 1; i >= 0 && least > 0; i-- {
		rank := 0
		if a.idle[i].lane.InFlight() > 0 {
			rank++
		}
		if a.idle[i].health.Slow() {
			rank += 2
		}
		if rank < least {
			best, least = i, rank
		}
	}
	if best < 0 || a.waitsForOthersLocked(a.idle[best]) || a.downErrorLocked() != nil {
		return nil
	}
	m := a.idle[best]
	a.idle = slices.Delete(a.idle, best, best+1)
	return m
}

// waitsForOthersLocked reports whether the connection is slow while others, in use now, are not: callers
// wait for those.
func (a *exclusiveAccess) waitsForOthersLocked(m *member) bool {
	return m.health.Slow() && slices.ContainsFunc(a.members, func(o *member) bool { return o.state == busy && !o.health.Slow() })
}

func (a *exclusiveAccess) answered(m *member) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.state == busy && m.lane.InFlight() == 0 {
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
	w := a.queue.fast.head
	if w == nil || a.waitsForOthersLocked(m) {
		m.becomeLocked(isIdle)
		a.idle = append(a.idle, m)
		return
	}
	if w.batch == nil && m.lane.Usable() {
		a.queue.remove(w)
		m.becomeLocked(dedicated)
		w.given <- dedicateResult{member: m}
		return
	}
	if w.batch == nil || !a.mu.giveLocked(m.lane, w.batch, besidePing) {
		a.leaveLocked(m, wire.ErrClosed, true)
		return
	}
	a.queue.remove(w)
	m.becomeLocked(busy)
}

func (a *exclusiveAccess) withdrawLocked(m *member) {
	if a.closed() { // all of them leave, and none needs to be found
		a.idle = nil
		return
	}
	if i := slices.Index(a.idle, m); i >= 0 {
		a.idle = slices.Delete(a.idle, i, i+1)
	}
}

// trimLocked takes the slow ones, then those that have been idle longest.
func (a *exclusiveAccess) trimLocked(surplus int) {
	for _, m := range a.members {
		if surplus > 0 && m.comparedLocked() && m.health.Slow() {
			a.leaveLocked(m, errIdle, false)
			surplus--
		}
	}
	for ; surplus > 0 && len(a.idle) > 0; surplus-- {
		a.leaveLocked(a.idle[0], errIdle, false)
	}
}

// changedLocked gives those that wait the idle connections that are not slow any more.
func (a *exclusiveAccess) changedLocked() {
	for a.queue.len() > 0 {
		m := a.popLocked()
		if m == nil {
			return
		}
		a.offerLocked(m)
	}
}

// dedicate waits for a connection. It is its user's until it is returned.
func (a *exclusiveAccess) dedicate(ctx context.Context) (*Dedicated, error) {
	a.mu.Lock()
	for m := a.popLocked(); m != nil; m = a.popLocked() {
		if m.lane.Usable() {
			m.becomeLocked(dedicated)
			a.mu.Unlock()
			return &Dedicated{from: a, member: m}, nil
		}
		a.leaveLocked(m, wire.ErrClosed, true) // it has failed, and its event is on the way
	}
	w := &waiter{given: make(chan dedicateResult, 1)}
	err := a.waitLocked(w, false)
	a.mu.Unlock()
	if err != nil {
		return nil, wire.NotSent(a.addr, err)
	}
	select {
	case r := <-w.given:
		if r.err != nil {
			return nil, r.err
		}
		return &Dedicated{from: a, member: r.member}, nil
	case <-ctx.Done():
		return nil, wire.NotSent(a.addr, a.leaveQueue(w, ctx.Err()))
	}
}

// leaveQueue takes w out of the queue; a connection that it was given in the
// last moment goes to the next one. It returns cause, with what w waited for.
func (a *exclusiveAccess) leaveQueue(w *waiter, cause error) error {
	a.mu.Lock()
	if w.in != nil {
		cause = a.waitErrorLocked(w, cause)
		a.queue.remove(w)
		a.mu.Unlock()
		return cause
	}
	a.mu.Unlock()
	if r := <-w.given; r.member != nil {
		a.takeBack(r.member, true)
	}
	return cause
}

// takeBack takes back a dedicated connection. One that is not clean, as its user got it, is closed.
func (a *exclusiveAccess) takeBack(m *member, clean bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case m.state != dedicated: // it was closed meanwhile
	case !clean:
		a.leaveLocked(m, errUnclean, true)
	default:
		m.startLocked()
		if m.leaveWhy == nil && m.lane.Err() == nil { // the server serves, although it may refuse dials
			a.health.Returned()
			a.settleLocked()
		}
		a.offerLocked(m)
	}
}
