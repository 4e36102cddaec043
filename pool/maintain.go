package pool

import (
	"time"

	"github.com/redislanes/redislanes/lanes"
)

// quietTime is how long a connection is idle before its background goroutine
// listens on it for the server's hanging up.
const quietTime = time.Second

// maintain looks at all connections now and then, until the pool is closed.
func (p *Pool) maintain() {
	every := min(p.StallTimeout/4, quietTime/2)
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

// inspect closes the connections that have stalled or that are idle and too
// many, and makes the others that are idle listen.
func (p *Pool) inspect(now time.Time) {
	var stalled, surplus, idle []*lanes.Lane
	p.mu.Lock()
	spare := len(p.members) - p.min
	for _, m := range p.members {
		if progress := m.lane.Progress(); progress != m.progress {
			m.progress, m.since = progress, now
		}
		still := now.Sub(m.since)
		switch inFlight := m.lane.InFlight(); {
		case m.state == lent:
		case inFlight > 0:
			if still >= p.StallTimeout {
				stalled = append(stalled, m.lane)
			}
		case p.idleTimeout > 0 && still >= p.idleTimeout && spare > 0 && m.state == isIdle:
			spare--
			surplus = append(surplus, m.lane)
			p.dropIdleLocked(m)
		case still >= quietTime:
			idle = append(idle, m.lane)
		}
	}
	p.growLocked()
	p.mu.Unlock()
	for _, l := range stalled {
		l.Fail(lanes.ErrStalled)
	}
	for _, l := range surplus {
		l.Fail(errIdle)
	}
	for _, l := range idle {
		l.Watch()
	}
}

func (p *Pool) dropIdleLocked(m *member) {
	for i, other := range p.idle {
		if other == m {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			m.state = gone
			return
		}
	}
}
