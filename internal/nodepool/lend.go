package nodepool

import (
	"context"

	"github.com/redislanes/redislanes/internal/wire"
)

// Lend waits for a connection, or dials one, and lends it until it is
// returned. The error wraps redislanes.ErrNotSent.
func (p *Pool) Lend(ctx context.Context) (*Lent, error) {
	if ctx == nil {
		return nil, wire.NotSent(p.addr, errNilContext)
	}
	if p.shared {
		from, err := p.lenderPool()
		if err != nil {
			return nil, wire.NotSent(p.addr, err)
		}
		return from.Lend(ctx)
	}
	m, w, err := p.takeOrWait()
	if err != nil {
		return nil, wire.NotSent(p.addr, err)
	}
	if m != nil {
		return newLent(m), nil
	}
	select {
	case r := <-w.lend:
		if r.err != nil {
			return nil, r.err
		}
		return newLent(r.member), nil
	case <-ctx.Done():
		return nil, wire.NotSent(p.addr, p.leaveQueue(w, ctx.Err()))
	}
}

func (p *Pool) lenderPool() (*Pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.endedLocked(); err != nil {
		return nil, err
	}
	if err := p.downErrorLocked(); err != nil {
		return nil, err
	}
	if p.lenders == nil {
		p.lenders = newPool(p.lentSettings(), p.dialer, p.purpose, p.addr, p.log)
	}
	return p.lenders, nil
}

func (p *Pool) takeOrWait() (*member, *waiter, error) {
	p.mu.Lock()
	defer p.unlock()
	for len(p.idle) > 0 && p.downErrorLocked() == nil {
		m := p.popIdleLocked()
		if m.lane.Err() == nil {
			p.lendLocked(m)
			return m, nil, nil
		}
		p.leaveLocked(m, wire.ErrClosed, true) // it is closed, and its event on the way
	}
	w := &waiter{lend: make(chan lendResult, 1)}
	return nil, w, p.waitLocked(w)
}

func (p *Pool) lendLocked(m *member) {
	m.becomeLocked(lent)
	m.lane.SetLent(true)
}

// leaveQueue takes w out of the queue; a connection that it was given in the
// last moment goes to the next one. It returns cause, with what w waited for.
func (p *Pool) leaveQueue(w *waiter, cause error) error {
	p.mu.Lock()
	if w.place != nil {
		cause = p.waitErrorLocked(w, cause)
		p.removeLocked(w.place)
		p.unlock()
		return cause
	}
	p.mu.Unlock()
	if r := <-w.lend; r.member != nil {
		p.takeBack(r.member, true)
	}
	return cause
}

// takeBack takes a connection back that was lent. One that is not clean is closed
// and replaced.
func (p *Pool) takeBack(m *member, clean bool) {
	if clean {
		m.lane.SetLent(false)
	}
	p.mu.Lock()
	switch {
	case m.state != lent: // it was closed meanwhile
	case !clean:
		p.leaveLocked(m, errUnclean, true)
	default:
		m.startLocked()
		p.freeLocked(m)
	}
	p.unlock()
}
