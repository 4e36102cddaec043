package nodepool

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

// A connection leaves its pool in one way, whatever the reason. leaveLocked withdraws it from
// use, Unlock closes its lane, and leftLocked counts it out when the lane calls Closed. If the
// server closes the connection, Closed comes first. So Dials - DialErrors = Open + Closes holds at
// any moment.

// An exit is a lane that is to be closed once the lock is released.
type exit struct {
	lane *wire.Lane
	why  error
	now  bool // and not only when nothing is in flight
}

// leaveLocked withdraws the connection from use and has Unlock close it because of why: now, or
// when nothing is in flight on it. Until it is closed it stays a member and counts as open.
func (p *Pool) leaveLocked(m *member, why error, now bool) {
	m.becomeLocked(leaving)
	p.access.withdrawLocked(m)
	p.mu.exits = append(p.mu.exits, exit{m.lane, why, now})
}

func (e exit) carryOut() {
	if e.now {
		e.lane.Fail(e.why)
	} else {
		e.lane.Drain(e.why)
	}
}

// Closed is part of wire.Events.
func (m *member) Closed(l *wire.Lane) {
	p, err := m.pool, l.Err()
	p.mu.Lock()
	if m.state == dialling {
		m.closedEarly = err // dial knows of the connection only in a moment
	} else {
		p.leftLocked(m, err)
	}
	p.noteStateLocked(guard.ConnClosed, closeReason(err), err)
	p.mu.Unlock()
}

// leftLocked is the end of every connection that was a member.
func (p *Pool) leftLocked(m *member, err error) {
	if m.state == gone {
		return
	}
	m.becomeLocked(gone)
	if m.leaveWhy != nil {
		err = m.leaveWhy // it was to leave anyway, and says nothing of the server
	}
	i := slices.Index(p.members, m)
	p.members = slices.Delete(p.members, i, i+1) // strategies see lanes in this order
	p.access.withdrawLocked(m)
	p.counters.closes[closeReason(err)]++
	p.tellClosedLocked(m, err)
	p.judgeEndLocked(m, err)
	p.growLocked()
}

// joinLocked makes a member of the connection that was dialled. If it has been
// closed already, or nobody wants it any more, it leaves at once, so that every
// dial that succeeded is counted out in the end.
func (p *Pool) joinLocked(m *member, lane *wire.Lane) {
	m.lane, m.born = lane, time.Now()
	m.until = m.born.Add(p.lifetime())
	m.startLocked()
	p.members = append(p.members, m)
	switch {
	case m.closedEarly != nil:
		m.becomeLocked(leaving)
		p.leftLocked(m, m.closedEarly)
	case p.closed || p.retired:
		p.leaveLocked(m, p.endedLocked(), true)
	case m.renewal != p.renewals.number: // its address may have got another meaning meanwhile
		p.leaveLocked(m, errRenewed, true)
	default:
		p.access.offerLocked(m)
	}
}
