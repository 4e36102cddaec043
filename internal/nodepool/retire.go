package nodepool

import (
	"errors"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
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

// Renew replaces the connections, each when nothing is in flight on it, because a
// server's reply says that the address may lead to another server now. Those that are
// lent leave when they are returned, and those that are being dialled when they join.
// The first renewal is immediate. Those that follow are spaced by 1, 2, 4, up to 16 s:
// if the last one did not help, the next one hardly will. See [Pool.Readmit] for what is
// known for certain.
func (p *Pool) Renew() {
	now := time.Now()
	p.mu.Lock()
	if p.renewals.due(now) && (p.drainLocked(errRenewed, func(*member) bool { return true }) || p.dialing > 0) {
		p.renewals.note(now)
	}
	parts := p.access.partsLocked()
	p.mu.Unlock()
	for _, part := range parts {
		part.Renew()
	}
}

// Readmit asks wire.Purpose.Member again about each connection, by what its server said
// of itself when it was dialled, and replaces those that are not admitted any more: each
// when nothing is in flight on it or, if it is lent, when it is returned. It must be
// called when Member has come to answer otherwise. A connection that is being dialled
// is asked about once more when it joins. A server that was refused is dialled again now.
func (p *Pool) Readmit() {
	p.mu.Lock()
	p.drainLocked(errRenewed, func(m *member) bool { return m.spent == nil && m.refused() })
	if p.redial != nil && errors.Is(p.health.Failure().Err, redislanes.ErrNotMember) {
		p.redial.Stop()
		p.redial = nil
		p.retryLocked()
	}
	parts := p.access.partsLocked()
	p.mu.Unlock()
	for _, part := range parts {
		part.Readmit()
	}
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

// Retire makes the pool refuse batches with ErrRetired, also those that wait,
// and closes each connection when nothing is in flight on it, or when it is
// returned. A retired pool still needs Close, which closes lent ones, too.
func (p *Pool) Retire() {
	p.mu.Lock()
	p.noteRetiredLocked()
	p.retired = true
	p.failWaitersLocked(cause.ErrRetired)
	p.drainLocked(cause.ErrRetired, func(*member) bool { return true })
	parts := p.access.partsLocked()
	p.mu.Unlock()
	for _, part := range parts {
		part.Retire()
	}
}

// endedLocked returns why the pool takes nothing any more, nil while it does.
func (p *Pool) endedLocked() error {
	switch {
	case p.retired:
		return cause.ErrRetired
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
