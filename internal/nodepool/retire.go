package nodepool

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/wire"
)

var (
	errRenewed = errors.New("connection replaced: its address may lead to another server now")
	errAged    = errors.New("connection replaced: it has reached MaxAge")
)

// renew is [Node.Renew] for one pool.
func (p *Pool) renew(since time.Time) (renewed bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !since.IsZero() && p.renewals.last.After(since) {
		return true
	}
	if p.renewals.due(now) && (p.drainLocked(errRenewed, func(*member) bool { return true }) || p.dialing > 0) {
		p.renewals.note(now)
		return true
	}
	return p.renewals.last.After(since)
}

// readmit is [Node.Readmit] for one pool.
func (p *Pool) readmit() {
	p.mu.Lock()
	p.drainLocked(errRenewed, func(m *member) bool { return m.leaveWhy == nil && m.refused() })
	if errors.Is(p.health.Failure().Err, redislanes.ErrWrongServer) {
		p.redialNowLocked()
	}
	p.mu.Unlock()
}

// replace is [Node.Replace] for one pool.
func (p *Pool) replace() {
	p.mu.Lock()
	p.drainLocked(errRenewed, func(*member) bool { return true })
	p.renewals.last = time.Now()
	p.renewals.number++
	p.mu.Unlock()
}

// asking returns the pool's purpose, which notes in m how its server was admitted.
func (m *member) asking() wire.Purpose {
	purpose := m.pool.purpose
	if admit := purpose.Admits; admit != nil {
		purpose.Admits = func(addr string, id []byte) error {
			m.admit = func() error { return admit(addr, id) }
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
		r.pause = firstPause
	}
	r.last = now
	r.number++
}

// retire is [Node.Retire] for one pool.
func (p *Pool) retire() {
	p.mu.Lock()
	p.noteRetiredLocked()
	p.retired = true
	p.failWaitersLocked(cause.ErrRetired)
	p.drainLocked(cause.ErrRetired, func(*member) bool { return true })
	p.mu.Unlock()
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
		case m.state == dedicated:
			m.leaveWhy = why
		default:
			p.leaveLocked(m, why, false)
		}
		any = true
	}
	return any
}

// spread returns up to a tenth less, by chance, so that pools and processes that began together
// do not go on together.
func spread(d time.Duration) time.Duration { return d - rand.N(d/10+1) }

// retirementLocked returns when a connection that is made now is to leave; zero for never.
func (p *Pool) retirementLocked(now time.Time) time.Time {
	if p.MaxAge == 0 {
		return time.Time{}
	}
	return now.Add(spread(p.MaxAge))
}

// rotateLocked has connections leave that have reached their age, each when nothing is in flight
// on it or its user has returned it. A tenth leaves at a time, and the next ones when those have
// been replaced, so the pool keeps its size. While no connection can be had, the old ones stay.
func (p *Pool) rotateLocked(now time.Time) {
	if p.MaxAge == 0 || p.health.Against() || !p.health.Answers() {
		return
	}
	missing := p.size.target - p.size.open
	room := max(1, p.size.target/rotateShare) - missing
	for _, m := range p.members {
		switch {
		case m.state == leaving || m.leaveWhy != nil || now.Before(m.until):
		case m.state == dedicated:
			m.leaveWhy = errAged
		case room > 0:
			p.leaveLocked(m, errAged, false)
			room--
		}
	}
}
