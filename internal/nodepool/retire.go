package nodepool

import (
	"errors"
	"time"

	"github.com/redislanes/redislanes"
)

const (
	// renewAge is the least age of a connection that Renew replaces, so that many
	// callers with the same complaint cause one replacement.
	renewAge = time.Second

	// maxRenewPause bounds the time between renewals that do not help.
	maxRenewPause = 16 * time.Second
)

var errRenewed = errors.New("connection replaced: the server has changed its role")

// Renew replaces the connections, each when nothing is in flight on it: the
// address may lead to another server now. Connections younger than a second
// stay; those that are lent leave when they are returned. Renewals one after the
// other are spaced by 1, 2, 4, up to 16 s: that the last one did not help says
// that the next one hardly will.
func (p *Pool) Renew() {
	now := time.Now()
	p.mu.Lock()
	if p.renewals.due(now) && p.drainLocked(errRenewed, func(m *member) bool { return now.Sub(m.born) >= renewAge }) {
		p.renewals.note(now)
	}
	parts := p.access.partsLocked()
	p.mu.Unlock()
	for _, part := range parts {
		part.Renew()
	}
}

// renewals are the times at which the connections were replaced.
type renewals struct {
	last  time.Time
	pause time.Duration // after it
}

func (r *renewals) due(now time.Time) bool { return now.Sub(r.last) >= r.pause }

func (r *renewals) note(now time.Time) {
	if now.Sub(r.last) < 2*r.pause {
		r.pause = min(2*r.pause, maxRenewPause)
	} else {
		r.pause = renewAge
	}
	r.last = now
}

// Retire makes the pool refuse batches with ErrRetired, also those that wait,
// and closes each connection when nothing is in flight on it, or when it is
// returned. A retired pool still needs Close, which closes lent ones, too.
func (p *Pool) Retire() {
	p.mu.Lock()
	p.noteRetiredLocked()
	p.retired = true
	p.failWaitersLocked(redislanes.ErrRetired)
	p.drainLocked(redislanes.ErrRetired, func(*member) bool { return true })
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
		case !which(m) || m.state == leaving:
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
