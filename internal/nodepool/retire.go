package nodepool

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
)

var (
	errRenewed = errors.New("connection replaced: its address may lead to another server now")
	errAged    = errors.New("connection replaced: it has reached MaxAge")
)

// renewals are the times at which all connections were replaced. A connection has the number of
// the last one before it was dialled.
type renewals struct {
	number uint64
	last   time.Time
}

// renew is [Node.Renew] for one pool.
func (p *Pool) renew(since time.Time) (renewed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.renewals.last
	if !since.IsZero() && !last.Before(since) {
		return true
	}
	if time.Since(last) < renewPause || len(p.members) == 0 && p.dialing == 0 {
		return false
	}
	p.renewLocked()
	return true
}

// replace is [Node.Replace] for one pool.
func (p *Pool) replace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renewLocked()
	if errors.Is(p.health.Failure().Err, redislanes.ErrWrongServer) {
		p.redialNowLocked()
	}
}

func (p *Pool) renewLocked() {
	p.drainLocked(errRenewed)
	p.renewals.number++
	p.renewals.last = time.Now()
}

// retire is [Node.Retire] for one pool.
func (p *Pool) retire() {
	p.mu.Lock()
	if p.health.State() != health.Up { // no other line ends the one that said so
		p.noteStateLocked(guard.ServerNotUsed, time.Since(p.health.Since()))
	}
	p.retired = true
	p.failWaitersLocked(cause.ErrRetired)
	p.drainLocked(cause.ErrRetired)
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

// drainLocked makes all connections leave, each when nothing is in flight on it or
// when its user has returned it.
func (p *Pool) drainLocked(why error) {
	for _, m := range p.members {
		switch m.state {
		case leaving:
		case dedicated:
			m.leaveWhy = why
		default:
			p.leaveLocked(m, why, false)
		}
	}
}

// lifetime returns MaxAge, or up to a tenth less by chance, so that pools and processes that began
// together do not go on together.
func (s *Settings) lifetime() time.Duration { return s.MaxAge - rand.N(s.MaxAge/10+1) }

// rotateLocked has connections leave that have reached their age, each when nothing is in flight
// on it or its user has returned it. One leaves at a time, and the next one when it has been
// replaced, so the pool keeps its size. While no connection can be had, the old ones stay.
func (p *Pool) rotateLocked(now time.Time) {
	if p.MaxAge == 0 || p.health.Against() {
		return
	}
	complete := p.size.open >= p.size.target
	for _, m := range p.members {
		switch {
		case m.state == leaving || m.leaveWhy != nil || now.Before(m.until):
		case m.state == dedicated:
			m.leaveWhy = errAged
		case complete:
			p.leaveLocked(m, errAged, false)
			complete = false
		}
	}
}
