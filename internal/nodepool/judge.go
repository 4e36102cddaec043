package nodepool

import (
	"errors"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// Package health judges the server. The pool tells it what happens, under mu, and does
// what it says: refusing batches, asking, and drawing conclusions from connections that end.
//
// No library for breakers is used: they probe with a caller's call. A caller's INCRBY must not
// be the probe, since its outcome could become unknown.

// downErrorLocked returns why nothing is sent to the server, nil if it is up as
// far as is known.
func (p *Pool) downErrorLocked() error {
	why := p.health.Failure().Err
	switch p.health.State() {
	case health.Up:
		return nil
	case health.Suspect:
		why = cause.ErrSuspect
	}
	since := p.health.Since()
	return &cause.Down{Addr: p.addr, Since: since, Cause: why, Lasted: time.Since(since)}
}

// Down returns why nothing is sent to the server: a cause.Down, or nil
// if it is neither down nor suspect, as far as is known, which costs one atomic
// load.
func (p *Pool) Down() error {
	if health.State(p.outage.Load()) == health.Up {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.downErrorLocked()
}

// heardWithin is [Node.HeardWithin] for one pool.
func (p *Pool) heardWithin(d time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health.HeardWithin(time.Now(), d)
}

// settleLocked must be called after each event that may change the state of the server. If
// the server is suspect or down now, queued batches fail, and new ones fail immediately. What
// is in flight stays: it may be about to run, and to close its connection would make its
// outcome unknown.
func (p *Pool) settleLocked() {
	was, is := health.State(p.outage.Load()), p.health.State()
	if was == is {
		return
	}
	p.outage.Store(uint32(is))
	if was == health.Up {
		p.downs++
	}
	const failAtOnce = "fail at once" // commands for this server
	lasted := time.Since(p.health.Since())
	switch {
	case is == health.Suspect:
		p.noteLocked(guard.ServerSuspect, failAtOnce)
	case is == health.Down:
		p.noteLocked(guard.ServerDown, p.health.Failure().Err, failAtOnce)
	case was == health.Down:
		p.noteLocked(guard.ServerUp, lasted)
	default:
		p.noteLocked(guard.ServerNotSuspect, lasted)
	}
	if is != health.Up {
		p.queue.fail(p.addr, p.downErrorLocked())
	}
	p.access.changedLocked()
}

// judgeEndLocked draws the conclusions from the end of a connection.
func (p *Pool) judgeEndLocked(m *member, err error) {
	now, reason := time.Now(), closeReason(err)
	if now.Sub(m.born) < health.Youth && !slices.Contains(ourReasons, reason) {
		p.health.DiedYoung(now)
		if p.health.Spaced() {
			p.dials.laterLocked()
		}
		return
	}
	p.health.Lost(now, errors.Is(err, cause.ErrStalled), err, p.members.serving())
	p.settleLocked()
}

// ourReasons are those for which a pool closes connections itself.
var ourReasons = []string{"client", "idle", "unclean", "renewed", "aged", "stalled"}

// The pool looks at its server every health.LookEvery while batches are in flight: by a reply that
// arrives, or else by its clock. It looks after its connections now and then (choresEvery). An idle pool
// does only the latter.

// choresEvery returns how often the connections are looked after.
func (s settings) choresEvery() time.Duration {
	every := min(s.StallTimeout/4, quietTime/2)
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
			p.watch()
		case <-chores.C:
			p.inspect(time.Now())
		case <-p.ctx.Done():
			return
		}
	}
}

// Answered is part of wire.Events. The pool looks if no reply has made it look within LookEvery. It does so on the
// reader of the reply, which is awake: to wake another goroutine for each look costs 3 to 8 % of the CPU under load.
func (m *member) Answered(*wire.Lane) {
	p := m.pool
	p.access.answered(m)
	now, last := wire.Now(), p.looked.Load()
	if now-time.Duration(last) >= health.LookEvery && p.looked.CompareAndSwap(last, int64(now)) {
		p.mu.Lock()
		p.judgeLocked()
		p.mu.Unlock()
	}
}

// watch looks, and sees to it that the pool looks again while there is something to be looked at.
func (p *Pool) watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch replies := p.judgeLocked(); {
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
	return slices.ContainsFunc(p.members, (*member).waitsLocked)
}

// judgeLocked looks at all connections and does what health says. Dead connections are closed when
// the lock is released. It reports whether bytes have arrived since the last look.
func (p *Pool) judgeLocked() (replies bool) {
	now := time.Now()
	look := p.health.Look(now)
	for _, m := range p.members {
		if look.See(&m.health, m.sightLocked()) {
			m.heard, replies = now, true
		}
	}
	v := look.Judge(p.dials.underWay > 0 && !p.members.joined(), p.queue.len() > 0)
	if look.Heard() && p.dials.question != nil {
		p.dials.question() // over a new connection: the server lives
	}
	p.settleLocked()
	if v.Ask {
		p.dials.askLocked()
	}
	p.compareLocked(&look)
	for _, m := range p.members {
		// An idle connection leaves, too: the next callers need not find out that it has stalled.
		if p.health.Ends(&m.health) || v.Stalled && (m.state != dedicated || m.waitsLocked()) {
			p.leaveLocked(m, cause.ErrStalled, true)
		}
	}
	return replies
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
			p.dials.growLocked()
		}
	}
	p.reply.Store(int64(look.Best()))
	if changed {
		p.access.changedLocked()
	}
}

// inspect judges the server, resizes the pool, asks connections that are idle
// whether the server is alive, and lets them listen.
func (p *Pool) inspect(now time.Time) {
	var listen []*wire.Lane
	p.mu.Lock()
	p.lookLocked(now)
	if surplus := p.size.open - p.size.target; surplus > 0 {
		p.access.trimLocked(surplus)
	}
	p.judgeLocked()
	passed := p.passed.Swap(false)
	for _, m := range p.members {
		idle := now.Sub(m.heard)
		switch {
		case !m.freeLocked():
		case passed || idle >= pingEvery:
			passed = false
			p.pingLocked(m)
		case idle >= quietTime:
			listen = append(listen, m.lane)
		}
	}
	p.rotateLocked(now)
	p.dials.growLocked()
	p.mu.Unlock()
	for _, l := range listen {
		l.Watch()
	}
}

// pingLocked sends a PING over an idle connection; if nothing comes back, the
// connection has stalled.
func (p *Pool) pingLocked(m *member) {
	if p.mu.giveLocked(m.lane, wire.Question(ping), p.MaxInFlight) {
		p.attend()
	}
}

// ping is no load, and its reply counts for no command.
var ping = []string{"PING"}
