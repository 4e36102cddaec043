package pool

import (
	"time"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// quietTime is how long a connection is idle before its background goroutine
// listens on it for the server's hanging up.
const quietTime = time.Second

// maintain looks at all connections now and then, until the pool is closed.
func (p *Pool) maintain() {
	every := min(p.StallTimeout/4, quietTime/2)
	if p.PingEvery > 0 {
		every = min(every, p.PingEvery/2)
	}
	if p.size.ranged() {
		every = min(every, p.idleTimeout/4)
	}
	ticker := time.NewTicker(max(every, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.inspect(time.Now())
		case <-p.ctx.Done():
			return
		}
	}
}

// A checkup is what is to be done with connections once the lock is released.
type checkup struct {
	stalled, leaving, listen, flush []*lanes.Lane
}

// inspect resizes the pool, closes the connections that have stalled and those
// that are too many, asks the others that are idle whether the server is alive,
// and lets them listen.
func (p *Pool) inspect(now time.Time) {
	var c checkup
	p.mu.Lock()
	p.lookLocked(now)
	c.leaving = p.trimLocked()
	longest := p.observeLocked(now)
	p.avoidLocked(now)
	p.probeLocked(now, longest)
	for _, m := range p.members {
		idle := now.Sub(m.since)
		switch {
		case p.stalledLocked(m, now, longest):
			c.stalled = append(c.stalled, m.lane)
			p.dropIdleLocked(m)
		case m.state == lent || m.state == gone || m.state == draining || m.lane.InFlight() > 0:
		case p.PingEvery > 0 && idle >= p.PingEvery:
			if p.pingLocked(m) {
				c.flush = append(c.flush, m.lane)
			}
		case idle >= quietTime:
			c.listen = append(c.listen, m.lane)
		}
	}
	p.growLocked()
	p.mu.Unlock()
	c.carryOut()
}

// besidePing is how many batches a connection of one caller may have in flight:
// that caller's and a PING. A connection that is pinged is to be had all the
// same, and one caller at a time is what the stack of idle ones sees to.
const besidePing = 2

// pingLocked sends a PING over an idle connection; if nothing comes back, the
// connection has stalled.
func (p *Pool) pingLocked(m *member) (flush bool) {
	command := resp.AppendCommand(nil, "PING")
	b := new(lanes.Batch)
	call := lanes.NewCall()
	call.Begin(1)
	b.Reset(call, command)
	b.Add(0, len(command))
	b.Uncounted()
	_, flush = m.lane.Dispatch(b, p.maxInFlight)
	return flush
}

func (c *checkup) carryOut() {
	for _, l := range c.stalled {
		l.Fail(lanes.ErrStalled)
	}
	for _, l := range c.leaving {
		l.Drain(errIdle)
	}
	for _, l := range c.flush {
		l.Flush()
	}
	for _, l := range c.listen {
		l.Watch()
	}
}

// dropIdleLocked sees to it that nobody is given the connection any more.
func (p *Pool) dropIdleLocked(m *member) {
	for i, other := range p.idle {
		if other == m {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			m.becomeLocked(gone)
			return
		}
	}
}
