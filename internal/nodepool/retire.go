package nodepool

import (
	"errors"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
)

const (
	// minRenewPause is the least time between two renewals, so that many callers
	// with the same complaint cause one replacement.
	minRenewPause = time.Second

	// maxRenewPause bounds the time between renewals that do not help.
	maxRenewPause = 16 * time.Second
)

var errRenewed = errors.New("connection replaced: its address may lead to another server now")

// renew is [Node.Renew] for one pool.
func (p *Pool) renew() {
	now := time.Now()
	p.mu.Lock()
	if p.renewals.due(now) && (p.drainLocked(errRenewed, func(*member) bool { return true }) || p.dialing > 0) {
		p.renewals.note(now)
	}
	p.mu.Unlock()
}

// readmit is [Node.Readmit] for one pool.
func (p *Pool) readmit() {
	p.mu.Lock()
	p.drainLocked(errRenewed, func(m *member) bool { return m.spent == nil && m.refused() })
	if p.redial != nil && errors.Is(p.health.Failure().Err, redislanes.ErrNotMember) {
		p.redial.Stop()
		p.redial = nil
		p.retryLocked()
	}
	p.mu.Unlock()
}

// asking returns the pool's purpose, which notes in m how its server was admitted.
func (m *member) asking() wire.Purpose {
	purpose := m.pool.purpose
	if admit := purpose.Member; admit != nil {
		purpose.Member = func(addr string, mode, id []byte) error {
			m.admit = func() error { return admit(addr, mode, id) }
			return m.admit()
		}
	}
	return purpose
}

// refused reports whether the server of the connection would not be admitted now.
func (m *member) refused() bool { return m.admit != nil && m.admit() != nil }

// outdatedLocked reports whether the address may have got another meaning since the
// connection was dialled.
func (m *member) outdatedLocked() bool {
	return m.renewal != m.pool.renewals.number || m.refused()
}

// renewals are the times at which the connections were replaced.
type renewals struct {
	number uint64 // of the last one
	last   time.Time
	pause  time.Duration // after it
}

func (r *renewals) due(now time.Time) bool { return now.Sub(r.last) >= r.pause }

func (r *renewals) note(now time.Time) {
	if now.Sub(r.last) < 2*r.pause {
		r.pause = min(2*r.pause, maxRenewPause)
	} else {
		r.pause = minRenewPause
	}
	r.last = now
	r.number++
}

// retire is [Node.Retire] for one pool.
func (p *Pool) retire() {
	p.mu.Lock()
	p.noteRetiredLocked()
	p.retired = true
	p.failWaitersLocked(redislanes.ErrRetired)
	p.drainLocked(redislanes.ErrRetired, func(*member) bool { return true })
	p.mu.Unlock()
}

// endedLocked returns why the pool takes nothing any more, nil while it does.
func (p *Pool) endedLocked() error {
	switch {
	case p.retired:
		return redislanes.ErrRetired
	case p.closed:
		return errClosed
	}
	return nil
}

// drainLocked makes connections leave, each when nothing is in flight on it or
// when its user has returned it. It reports whether there are any.
func (p *Pool) drainLocked(why error, which func(*member) bool) (any bool) {
	for _, m := range p.members {
		switch {
		case m.state == leaving || !which(m):
			continue
		case m.state == lent:
			m.spent = why
		default:
			p.leaveLocked(m, why, false)
		}
		any = true
	}
	return any
}
