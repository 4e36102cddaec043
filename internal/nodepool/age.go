package nodepool

import (
	"errors"
	"math/rand/v2"
	"time"
)

var errAged = errors.New("connection replaced: it has reached MaxAge")

// rotateShare: one connection of so many leaves at a time because of its age.
const rotateShare = 10

// retirementLocked returns when a connection that is made now is to leave; zero for
// never. A part of the age is by chance, so that connections that were made together,
// also by many processes, are not replaced together.
func (p *Pool) retirementLocked(now time.Time) time.Time {
	if p.MaxAge == 0 {
		return time.Time{}
	}
	return now.Add(p.MaxAge - rand.N(p.MaxAge/10+1))
}

// rotateLocked has connections leave that have reached their age, each when nothing
// is in flight on it or its user has returned it. The next ones follow when they have
// been replaced, so that the pool keeps its size; while no connection can be had, the
// old ones stay.
func (p *Pool) rotateLocked(now time.Time) {
	if p.MaxAge == 0 || p.health.Against() || !p.health.Answers() {
		return
	}
	missing := p.size.target - p.size.open
	room := max(1, p.size.target/rotateShare) - missing
	for _, m := range p.members {
		switch {
		case m.state == leaving || m.spent != nil || now.Before(m.until):
		case m.state == lent:
			m.spent = errAged
		case room > 0:
			p.leaveLocked(m, errAged, false)
			room--
		}
	}
}
