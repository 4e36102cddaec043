package nodepool

import (
	"time"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// quietTime is how long a connection is idle before its background goroutine
// listens on it for the server's hanging up.
const quietTime = time.Second

// The pool looks at its server often while batches are in flight or wait
// (lookEvery), and looks after its connections now and then (choresEvery). An
// idle pool does only the latter.

// lookEvery returns how often the server is looked at while batches are in
// flight.
func (s settings) lookEvery() time.Duration {
	return max(min(minSilence, s.StallTimeout/2)/looksInSilence, time.Millisecond)
}

// choresEvery returns how often the connections are looked after.
func (s settings) choresEvery() time.Duration {
	every := min(s.StallTimeout/4, quietTime/2)
	if s.PingEvery > 0 {
		every = min(every, s.PingEvery/2)
	}
	if s.Min < s.Max {
		every = min(every, s.IdleTimeout/4)
	}
	return max(every, time.Millisecond)
}

// attend sees to it that somebody looks soon, since a batch is in flight now.
// But for the first batch after a quiet time, that is one atomic load.
func (p *Pool) attend() {
	if !p.attended.Load() && p.attended.CompareAndSwap(false, true) {
		p.nextLook.Reset(p.lookEvery())
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
		p.plan(max(chores.Sub(now), time.Millisecond))
	}
}

// plan sets the time of the next look, after rest at the latest.
func (p *Pool) plan(rest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.planned = min(p.lookEvery(), rest); !p.busyLocked() {
		p.nextLook.Reset(rest)
		p.attended.Store(false)
		// A caller that saw it set before has enqueued its batch before that.
		if !p.busyLocked() || !p.attended.CompareAndSwap(false, true) {
			p.planned = rest
			return
		}
	}
	p.nextLook.Reset(p.planned)
}

// busyLocked reports whether there is something to be looked at.
func (p *Pool) busyLocked() bool {
	if p.active || p.queue.Len() > 0 || p.watch.stage != answers && len(p.members) > 0 {
		return true
	}
	for _, m := range p.members {
		if m.state != lent && m.lane.InFlight() > 0 {
			return true
		}
	}
	return false
}

// look judges the server.
func (p *Pool) look(now time.Time) {
	p.mu.Lock()
	p.judgeLocked(now)
	p.carryOut(nil)
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
		idle := now.Sub(m.since)
		switch {
		case m.state != isIdle && m.state != shared || m.lane.InFlight() > 0: // nor one that is about to be free
		case p.PingEvery > 0 && idle >= p.PingEvery:
			p.pingLocked(m)
		case idle >= quietTime:
			listen = append(listen, m.lane)
		}
	}
	p.retryLocked()
	p.rotateLocked(now)
	p.authenticateLocked(now)
	p.growLocked()
	p.carryOut(listen)
}

// pingLocked sends a PING over an idle connection; if nothing comes back, the
// connection has stalled.
func (p *Pool) pingLocked(m *member) {
	call, b := newPing()
	call.Begin(1)
	if p.mu.giveLocked(m.lane, b, p.MaxInFlight) {
		m.ping = call
	}
}

// newPing returns a PING, which is no load and whose reply counts for no command.
func newPing() (*wire.Call, *wire.Batch) {
	command := resp.AppendCommand(nil, "PING")
	call, b := wire.NewCall(), new(wire.Batch)
	b.Reset(call, command)
	b.Add(0, len(command))
	b.Uncounted()
	return call, b
}

// carryOut unlocks mu, and lets the lanes listen.
func (p *Pool) carryOut(listen []*wire.Lane) {
	p.noteSuspicionLocked()
	p.mu.Unlock()
	for _, l := range listen {
		l.Watch()
	}
}
