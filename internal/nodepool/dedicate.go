package nodepool

import (
	"context"

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
	for m := a.popLocked(); m != nil; m = a.popLocked() {
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
		a.takeBack(r.member, true)
	}
	return cause
}

// takeBack takes back a dedicated connection. One that is not clean, as its user got it, is closed.
func (p *Pool) takeBack(m *member, clean bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case m.state != dedicated: // it was closed meanwhile
	case !clean:
		p.leaveLocked(m, errUnclean, true)
	default:
		m.startLocked()
		if m.leaveWhy == nil && m.lane.Err() == nil { // the server serves, although it may refuse dials
			p.health.Returned()
			p.settleLocked()
		}
		p.access.offerLocked(m)
	}
}
