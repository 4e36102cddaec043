package nodepool

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// state says what a connection is doing.
type state uint8

const (
	dialling state = iota
	isIdle
	busy      // one batch is in flight
	dedicated // one user has it
	shared    // for everybody
	leaving   // nobody is given it any more; it closes, perhaps once nothing is in flight
	gone
)

// A member is a connection and its place in the pool.
type member struct {
	pool       *Pool
	lane       *wire.Lane
	slow       bool   // it is a lane for slow commands; set when it joins
	generation uint64 // of the pool, when it was dialled
	born       time.Time
	until      time.Time // when it is to leave because of its age

	quietUntil atomic.Pointer[time.Time] // until when its user may be waiting for data; nil: it does not

	// Guarded by pool.mu.
	state       state
	health      health.Conn
	heard       time.Time // when bytes were last seen to arrive: an idle connection gets a PING later
	leaveWhy    error     // why it is to leave when its user returns it
	closedEarly error     // why it was closed before it was a member
}

// The members of a pool, in the order in which strategies see their lanes. Methods of it and of its
// elements whose names end in Locked are called under Pool.mu, as those of members are.
type members []*member

// serving returns the number of connections without those that wait for data. Their users may
// keep them for long.
func (all members) serving() int {
	n := len(all)
	for _, m := range all {
		if m.state == dedicated && m.mayBeQuiet() {
			n--
		}
	}
	return n
}

// load returns how many connections have a user now. One of one caller that has its reply has none, and PINGs
// do not count.
func (all members) load() (n int) {
	for _, m := range all {
		if m.state == dedicated || m.state == busy && m.lane.InFlight() > 0 {
			n++
		}
	}
	return n
}

// joined reports whether there is a connection whose silence would say something:
// one that is not dedicated to a user.
func (all members) joined() bool {
	return slices.ContainsFunc(all, func(m *member) bool { return m.state != dedicated })
}

// lanes returns how many lanes take batches, those for slow commands and the others.
func (all members) lanes() (fast, slow int) {
	for _, m := range all {
		switch {
		case m.state != shared:
		case m.slow:
			slow++
		default:
			fast++
		}
	}
	return fast, slow
}

// becomeLocked changes what the connection is doing, and keeps count.
func (m *member) becomeLocked(to state) {
	c := &m.pool.size
	c.count(m.state, -1)
	c.count(to, 1)
	m.state = to
	if to == busy || to == dedicated {
		m.pool.noteLoadLocked()
	}
}

// startLocked begins to watch over a connection.
func (m *member) startLocked() {
	m.heard = time.Now()
	m.health = health.Conn{}
	m.lane.ForgetReplyTime()
}

// freeLocked reports whether the connection is for callers, and nothing is in flight on it. One of one caller
// that has its reply is about to be free.
func (m *member) freeLocked() bool {
	return (m.state == isIdle || m.state == shared) && m.lane.InFlight() == 0
}

// waitsLocked reports whether batches are in flight whose replies are due.
func (m *member) waitsLocked() bool {
	return m.lane.InFlight() > 0 && (m.state != dedicated || !m.mayBeQuiet())
}

// mayBeQuiet reports whether its user may be waiting for data.
func (m *member) mayBeQuiet() bool {
	until := m.quietUntil.Load()
	return until != nil && time.Now().Before(*until)
}

// comparedLocked reports whether the reply time of the connection says something about it: its commands are
// neither marked as slow nor its user's own.
func (m *member) comparedLocked() bool {
	return !m.pool.beside() && !m.slow && (m.state == isIdle || m.state == busy || m.state == shared)
}

// sightLocked returns what a look sees of the connection.
func (m *member) sightLocked() health.Sight {
	saw := health.Sight{Progress: m.lane.Progress(), Due: m.waitsLocked(), Compared: m.comparedLocked(), Slow: m.slow}
	if m.state != dedicated {
		saw.Answered, saw.Usual = m.lane.Answered()
	}
	return saw
}

// A connection leaves its pool in one way, whatever the reason. leaveLocked withdraws it from
// use, Unlock closes its lane, and leftLocked counts it out when the lane calls Closed. If the
// server closes the connection, Closed comes first. So Dials - DialErrors = Open + Closes holds at
// any moment.

// joinLocked makes a member of the connection that was dialled. If it has been
// closed already, or nobody wants it any more, it leaves at once, so that every
// dial that succeeded is counted out in the end.
func (p *Pool) joinLocked(m *member, lane *wire.Lane) {
	m.lane, m.born = lane, time.Now()
	m.until = m.born.Add(p.MaxAge - rand.N(p.MaxAge/10+1)) // what began together does not go on together
	m.startLocked()
	p.members = append(p.members, m)
	switch {
	case m.closedEarly != nil:
		m.becomeLocked(leaving)
		p.leftLocked(m, m.closedEarly)
	case p.ended != nil:
		p.leaveLocked(m, p.ended, true)
	case m.generation != p.generation: // its address may have got another meaning meanwhile
		p.leaveLocked(m, errRenewed, true)
	default:
		p.access.offerLocked(m)
	}
}

// leaveLocked withdraws the connection from use and has Unlock close it because of why: now, or
// when nothing is in flight on it. Until it is closed it stays a member and counts as open.
func (p *Pool) leaveLocked(m *member, why error, now bool) {
	m.becomeLocked(leaving)
	p.access.withdrawLocked(m)
	end := m.lane.Drain
	if now {
		end = m.lane.Fail
	}
	p.mu.then = append(p.mu.then, func() { end(why) })
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
	p.noteLocked(guard.ConnClosed, closeReason(err), err)
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
	p.members = slices.Delete(p.members, i, i+1)
	p.access.withdrawLocked(m)
	p.closes[closeReason(err)]++
	p.tellClosedLocked(err)
	p.judgeEndLocked(m, err)
	p.dials.growLocked()
}
