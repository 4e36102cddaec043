package nodepool

import (
	"context"
	"time"

	"github.com/redislanes/redislanes/internal/wire"
)

// dedicate waits for a connection. It is its user's until it is returned.
func (a *exclusiveAccess) dedicate(ctx context.Context) (*Dedicated, error) {
	m, w, err := a.takeOrWait()
	if err != nil {
		return nil, wire.NotSent(a.addr, err)
	}
	if m != nil {
		return newDedicated(m), nil
	}
	select {
	case r := <-w.given:
		if r.err != nil {
			return nil, r.err
		}
		return newDedicated(r.member), nil
	case <-ctx.Done():
		return nil, wire.NotSent(a.addr, a.leaveQueue(w, ctx.Err()))
	}
}

func (a *exclusiveAccess) takeOrWait() (*member, *waiter, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.idle) > 0 && a.downErrorLocked() == nil {
		m := a.popLocked()
		if m.lane.Usable() {
			m.becomeLocked(dedicated)
			return m, nil, nil
		}
		a.leaveLocked(m, wire.ErrClosed, true) // it has failed, and its event is on the way
	}
	w := &waiter{given: make(chan dedicateResult, 1)}
	return nil, w, a.waitLocked(w)
}

// leaveQueue takes w out of the queue; a connection that it was given in the
// last moment goes to the next one. It returns cause, with what w waited for.
func (a *exclusiveAccess) leaveQueue(w *waiter, cause error) error {
	a.mu.Lock()
	if w.in != nil {
		cause = a.waitErrorLocked(w, cause)
		a.removeLocked(w)
		a.mu.Unlock()
		return cause
	}
	a.mu.Unlock()
	if r := <-w.given; r.member != nil {
		a.takeBack(r.member, clean)
	}
	return cause
}

// takeBack takes back a dedicated connection as its user has left it. It is given to
// others once it is as it was. One that is spoilt is closed and replaced.
func (p *Pool) takeBack(m *member, left condition) {
	p.mu.Lock()
	switch {
	case m.state != dedicated: // it was closed meanwhile
	case left == spoilt:
		p.leaveLocked(m, errUnclean, true)
	default:
		m.startLocked()
		p.returnedLocked(m)
		if left == clean || !m.restoreLocked() {
			p.access.offerLocked(m)
		}
	}
	p.mu.Unlock()
}

// restoreLocked has the connection restored, and reports true: it is offered when the server has
// answered. If its credentials may have ended, it is closed instead. restoreLocked reports false for a
// connection that is to leave anyway.
func (m *member) restoreLocked() bool {
	p := m.pool
	if m.leaveWhy != nil {
		return false
	}
	if m.lane.CredentialsMayChange() && time.Since(m.born) > loginAge {
		p.leaveLocked(m, errUnclean, true)
		return true
	}
	m.restore = m.lane.Restore()
	if !p.mu.giveLocked(m.lane, m.restore.Batch, besidePing) {
		p.leaveLocked(m, wire.ErrClosed, true) // the lane's own error, if it has one, says why
		return true
	}
	m.becomeLocked(busy)
	p.attend()
	return true
}
