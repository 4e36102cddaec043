package nodepool

import (
	"cmp"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
)

// A connection with batches in flight on which no byte arrives may mean a dead
// server, a broken connection, or a server that lives and makes writers wait:
// during a graceful failover Redis Cluster does so for up to five seconds
// (CLUSTER_MF_TIMEOUT in its source), and still answers everything else. To
// close connections then would turn commands that are about to run into ones
// with an unknown outcome. So the pool asks the server over another connection
// before it judges (watch.go).

// A health is what the pool knows of its server's silence.
type health struct {
	watch       watch
	silentSince time.Time     // of a suspect; else zero
	dialSilent  time.Duration // for how long callers have waited for an unanswered dial
	question    func()        // withdraws the one that is out; nil: none is
	announced   time.Time     // since when the server is silent by what the log was told last; zero: it is not
	looked      time.Time     // when the maintenance last looked
	planned     time.Duration // how long after that it is to look again
	active      bool          // it saw that bytes had arrived
}

// judgeLocked looks at all connections and does what the watch says. What has
// stalled is to be closed once the lock is released.
func (p *Pool) judgeLocked(now time.Time) {
	passed, changed := p.passedLocked(now), p.size.doubted > 0
	waited, dial := p.observeLocked(now, passed), p.unansweredDialLocked(passed)
	p.watch.unjoined, waited = dial > 0, max(waited, dial)
	v := p.watch.look(passed, waited)
	if v.suspect {
		p.suspectLocked(now.Add(-min(waited, p.watch.quiet)))
	}
	switch {
	case v.ask:
		p.askLocked()
	case p.watch.stage == answers && p.size.doubted == 0:
		p.withdrawLocked() // also when what was silent has left
	}
	changed = changed || v.suspect
	for _, m := range p.members {
		if p.silentLocked(m) {
			p.doubtLocked(m, now.Add(-m.silent))
			changed = true
		}
		if m.state != lent && (v.stalled || m.silent >= p.PauseTimeout) {
			m.stalled = cmp.Or(m.stalled, now)
			p.leaveLocked(m, redislanes.ErrStalled, true) // also those that are idle: the next callers need not find that out
		}
	}
	if changed {
		p.growLocked()
		p.access.changedLocked()
		p.tasks.Go(p.access.dispatch) // a lane that is back may have room for those who wait
	}
}

// passedLocked returns how much time counts as passed since the last look: what
// was planned and, for a busy machine, as much as between two looks. Beyond that
// the process, or the whole machine, was frozen, which is no silence of the
// server: a process that was stopped for four seconds closed connections whose
// replies had arrived.
func (p *Pool) passedLocked(now time.Time) time.Duration {
	passed := min(max(0, now.Sub(p.looked)), p.planned+p.lookEvery())
	p.looked = now
	return passed
}

// observeLocked notes which connections have received bytes since the last look,
// and returns the longest time that one has waited for some. Connections that
// are lent may be silent for as long as their users like, and those that were closed
// and are not sockets need a moment to end.
func (p *Pool) observeLocked(now time.Time, passed time.Duration) (longest time.Duration) {
	p.active = false
	shortest := time.Duration(0) // of the trips that ended
	for _, m := range p.members {
		inFlight := m.state != lent && m.lane.InFlight() > 0 && m.lane.Err() == nil
		switch progress := m.lane.Progress(); {
		case progress != m.progress:
			m.progress, m.since, m.silent, m.missed = progress, now, 0, false
			p.active = true
			if m.state == inDoubt {
				m.trustLocked()
			}
		case !inFlight:
			m.silent, m.missed = 0, false
		case m.waits:
			m.silent += passed
		}
		m.waits = inFlight
		longest = max(longest, m.silent)
		if trip := m.lane.Trip(); trip > 0 && m.state != lent && m.lane.Err() == nil && (shortest == 0 || trip < shortest) {
			shortest = trip
		}
	}
	if shortest > 0 {
		p.watch.trip(shortest) // all of them may have waited for the same thing
	}
	if p.active {
		p.livesLocked(p.watch.heard())
	}
	return longest
}

// unansweredDialLocked returns for how long callers have waited for a dial, and for the
// next one behind those that were given up, with no connection there but lent ones and
// those that are ending, whose silence says nothing. The dial is a question already.
func (p *Pool) unansweredDialLocked(passed time.Duration) time.Duration {
	dials := p.dialing > 0 || p.redial != nil && p.gaveUp
	switch {
	case !dials || slices.ContainsFunc(p.members, func(m *member) bool { return m.state != lent && m.lane.Err() == nil }):
		p.dialSilent = 0
	case p.queue.Len() > 0 || p.watch.stage == suspect:
		p.dialSilent += passed
	}
	return p.dialSilent
}
