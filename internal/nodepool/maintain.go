package nodepool

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// The pool looks at its server every health.LookEvery while batches are in flight: by a reply that
// arrives, or else by its clock. It looks after its connections now and then (choresEvery). An idle pool
// does only the latter.

// choresEvery returns how often the connections are looked after.
func (s settings) choresEvery() time.Duration {
	every := min(s.StallTimeout/4, quietTime/2)
	if s.PingEvery > 0 {
		every = min(every, s.PingEvery/2)
	}
	if s.Min < s.Max {
		every = min(every, s.IdleTimeout/4)
	}
	return max(every, health.LookEvery)
}

// attend sees to it that somebody looks soon, since a batch is in flight now.
// But for the first batch after a quiet time, that is one atomic load.
func (p *Pool) attend() {
	if !p.attended.Load() && p.attended.CompareAndSwap(false, true) {
		p.nextLook.Reset(health.LookEvery)
	}
}

// maintain looks at the server and the connections until the pool is closed.
func (p *Pool) maintain() {
	defer p.nextLook.Stop()
	chores := time.NewTicker(p.choresEvery())
	defer chores.Stop()
	for {
		select {
		case <-p.nextLook.C:
			p.watch(time.Now())
		case <-chores.C:
			p.inspect(time.Now())
		case <-p.ctx.Done():
			return
		}
	}
}

// replied looks, if no reply has made the pool look within LookEvery. It runs on the reader of the reply,
// which is awake: to wake another goroutine for each look costs 3 to 8 % of the CPU under load.
func (p *Pool) replied() {
	now, last := wire.Now(), p.looked.Load()
	if now-time.Duration(last) >= health.LookEvery && p.looked.CompareAndSwap(last, int64(now)) {
		p.mu.Lock()
		p.judgeLocked(time.Now())
		p.mu.Unlock()
	}
}

// watch looks, and sees to it that the pool looks again while there is something to be looked at.
func (p *Pool) watch(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch replies := p.judgeLocked(now); {
	case replies:
		p.nextLook.Reset(health.WatchEvery)
		return
	case !p.busyLocked():
		p.attended.Store(false)
		// A caller that saw it set before has enqueued its batch before that.
		if !p.busyLocked() || !p.attended.CompareAndSwap(false, true) {
			return
		}
	}
	p.nextLook.Reset(health.LookEvery)
}

// busyLocked reports whether there is something to be looked at.
func (p *Pool) busyLocked() bool {
	if p.queue.len() > 0 || p.health.State() == health.Suspect && len(p.members) > 0 {
		return true
	}
	for _, m := range p.members {
		if m.waitsLocked() {
			return true
		}
	}
	return false
}

// judgeLocked looks at all connections and does what health says. What is dead is to be closed once
// the lock is released. It reports whether bytes have arrived since the last look.
func (p *Pool) judgeLocked(now time.Time) (replies bool) {
	look, spaced := p.health.Look(now), p.health.Spaced()
	for _, m := range p.members {
		if look.See(&m.health, m.sightLocked()) {
			m.heard = now
		}
	}
	v := look.Judge(p.dialing > 0 && !p.joinedLocked(), p.queue.len() > 0)
	if look.Heard() {
		p.withdrawLocked()
	}
	if spaced && !p.health.Spaced() && !p.health.Against() {
		p.redialNowLocked()
	}
	p.settleLocked()
	if v.Ask {
		p.askLocked()
	}
	p.compareLocked(&look)
	for _, m := range p.members {
		// An idle connection leaves, too: the next callers need not find out that it has stalled.
		if p.health.Ends(&m.health) || v.Stalled && (m.state != dedicated || m.waitsLocked()) {
			p.leaveLocked(m, cause.ErrStalled, true)
		}
	}
	return look.Heard()
}

// compareLocked keeps slow connections from callers, asks them, and replaces those that stay slow: each
// when nothing is in flight on it, and the next one when the pool has its size again.
func (p *Pool) compareLocked(look *health.Look) {
	changed := false
	for _, m := range p.members {
		if m.comparedLocked() {
			changed = look.Compare(&m.health) || changed
		}
	}
	for _, m := range p.members {
		if !m.comparedLocked() {
			continue
		}
		if look.Asks(&m.health) && m.freeLocked() {
			p.pingLocked(m)
		}
		if p.health.Replaces(&m.health) && p.size.open >= p.size.target && !p.health.Against() {
			p.leaveLocked(m, errSlow, false)
			p.growLocked()
		}
	}
	p.reply.Store(int64(look.Best()))
	if changed {
		p.access.changedLocked()
		p.tasks.Go(p.access.dispatch)
	}
}

// comparedLocked reports whether the reply time of the connection says something about it: its commands are
// neither marked as slow nor its user's own.
func (m *member) comparedLocked() bool {
	return !m.pool.beside() && !m.slow && (m.state == isIdle || m.state == busy || m.state == shared)
}

// sightLocked returns what a look sees of the connection.
func (m *member) sightLocked() health.Sight {
	saw := health.Sight{Progress: m.lane.Progress(), Due: m.waitsLocked(), Compared: m.comparedLocked()}
	if m.state != dedicated {
		saw.Answered, saw.Usual = m.lane.Answered()
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
	passed := p.passed.Swap(false)
	for _, m := range p.members {
		idle := now.Sub(m.heard)
		switch {
		case !m.freeLocked():
		case passed || p.PingEvery > 0 && idle >= p.PingEvery:
			passed = false
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

// freeLocked reports whether the connection is for callers, and nothing is in flight on it. One of one caller
// that has its reply is about to be free.
func (m *member) freeLocked() bool {
	return (m.state == isIdle || m.state == shared) && m.lane.InFlight() == 0
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
