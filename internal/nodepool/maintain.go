package nodepool

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// The pool looks at its server often while batches are in flight or wait
// (health.Limits.LookEvery), and looks after its connections now and then (choresEvery). An
// idle pool does only the latter.

// choresEvery returns how often the connections are looked after.
func (s settings) choresEvery() time.Duration {
	every := min(s.StallTimeout/4, quietTime/2)
	if s.PingEvery > 0 {
		every = min(every, s.PingEvery/2)
	}
	if s.Min < s.Max {
		every = min(every, s.IdleTimeout/4)
	}
	return max(every, health.LeastLook)
}

// attend sees to it that somebody looks soon, since a batch is in flight now.
// But for the first batch after a quiet time, that is one atomic load.
func (p *Pool) attend() {
	if !p.attended.Load() && p.attended.CompareAndSwap(false, true) {
		p.nextLook.Reset(p.healthLimits().LookEvery())
	}
}

// maintain looks at the server and the connections until the pool is closed.
func (p *Pool) maintain() {
	defer p.nextLook.Stop()
	chores := time.Now().Add(p.choresEvery())
	for {
		select {
		case <-p.nextLook.C:
		case <-p.ctx.Done():
			return
		}
		now := time.Now()
		if now.Before(chores) {
			p.look(now)
		} else {
			p.inspect(now)
			chores = now.Add(p.choresEvery())
		}
		p.plan(max(chores.Sub(now), health.LeastLook))
	}
}

// plan sets the time of the next look, after rest at the latest.
func (p *Pool) plan(rest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := min(p.health.LookEvery(), rest)
	p.health.Plan(next)
	if !p.busyLocked() {
		p.nextLook.Reset(rest)
		p.attended.Store(false)
		// A caller that saw it set before has enqueued its batch before that.
		if !p.busyLocked() || !p.attended.CompareAndSwap(false, true) {
			p.health.Plan(rest)
			return
		}
	}
	p.nextLook.Reset(next)
}

// busyLocked reports whether there is something to be looked at.
func (p *Pool) busyLocked() bool {
	if p.queue.len() > 0 || p.health.NeedsLook() && len(p.members) > 0 {
		return true
	}
	for _, m := range p.members {
		if m.waitsLocked() {
			return true
		}
	}
	return false
}

// look judges the server.
func (p *Pool) look(now time.Time) {
	p.mu.Lock()
	p.judgeLocked(now)
	p.mu.Unlock()
}

// judgeLocked looks at all connections and does what health says. What has stalled is to
// be closed once the lock is released.
func (p *Pool) judgeLocked(now time.Time) {
	changed, spaced := p.size.doubted > 0, p.health.Spaced()
	look := p.health.Look(now)
	for _, m := range p.members {
		if !look.See(&m.health, m.sightLocked()) {
			continue
		}
		if m.heard = now; m.state == inDoubt {
			m.trustLocked()
		}
	}
	v := look.Judge(health.Dials{Out: p.dialing > 0, Due: p.redial != nil, Joined: p.joinedLocked(), Waiting: p.queue.len() > 0})
	if v.Heard {
		p.livesLocked()
	}
	if spaced && !p.health.Spaced() && !p.health.Against() {
		p.redialNowLocked()
	}
	p.settleLocked()
	switch {
	case v.Ask:
		p.askLocked()
	case p.health.Answers() && p.size.doubted == 0:
		p.withdrawLocked() // also when what was silent has left
	}
	for _, m := range p.members {
		switch m.state {
		case isIdle, busy, shared: // an idle one has a PING in flight
			if p.health.Doubts(&m.health) {
				p.doubtLocked(m)
				changed = true
			}
		case leaving:
			changed = changed || p.health.Replaces(&m.health) // it holds its place no longer
		}
		// An idle connection leaves, too: the next callers need not find out that it has stalled.
		if p.health.Stalls(&m.health) || v.Stalled && (m.state != dedicated || m.waitsLocked()) {
			p.leaveLocked(m, cause.ErrStalled, true)
		}
	}
	if changed {
		p.growLocked()
		p.access.changedLocked()
		p.tasks.Go(p.access.dispatch) // a lane that is back may have room for waiters
	}
}

// sightLocked returns what a look sees of the connection. How long the commands of a
// dedicated one take may be up to its user. The socket is asked only if the last look saw silence.
func (m *member) sightLocked() health.Sight {
	saw := health.Sight{Progress: m.lane.Progress(), InFlight: m.waitsLocked(), RoundTrip: m.lane.RoundTrip()}
	saw.Unread = saw.InFlight && m.pool.health.Silence(&m.health) > 0 && m.lane.Unread()
	if m.state == dedicated {
		saw.RoundTrip = 0
	}
	return saw
}

// joinedLocked reports whether there is a connection whose silence would say something:
// one that is not dedicated to a user.
func (p *Pool) joinedLocked() bool {
	return slices.ContainsFunc(p.members, func(m *member) bool { return m.state != dedicated })
}

// inspect judges the server, resizes the pool, asks connections that are idle
// whether the server is alive, and lets them listen.
func (p *Pool) inspect(now time.Time) {
	var listen []*wire.Lane
	p.mu.Lock()
	p.lookLocked(now)
	p.trimLocked()
	p.judgeLocked(now)
	for _, m := range p.members {
		idle := now.Sub(m.heard)
		switch {
		case m.state != isIdle && m.state != shared || m.lane.InFlight() > 0: // nor one that is about to be free
		case p.PingEvery > 0 && idle >= p.PingEvery:
			p.pingLocked(m)
		case idle >= quietTime:
			listen = append(listen, m.lane)
		}
	}
	p.rotateLocked(now)
	p.growLocked()
	p.mu.Unlock()
	for _, l := range listen {
		l.Watch()
	}
}

// pingLocked sends a PING over an idle connection; if nothing comes back, the
// connection has stalled.
func (p *Pool) pingLocked(m *member) {
	b := wire.Question(ping)
	if p.mu.giveLocked(m.lane, b, p.MaxInFlight) {
		m.ping = b
	}
}

// ping is no load, and its reply counts for no command.
var ping = []string{"PING"}
