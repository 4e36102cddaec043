package nodepool

import (
	"context"

	"github.com/redislanes/redislanes/internal/wire"
)

// Lend waits for a connection, or dials one, and lends it until it is
// returned. The error wraps redislanes.ErrNotSent.
func (p *Pool) Lend(ctx context.Context) (*Lent, error) {
	if ctx == nil {
		return nil, wire.NotSent(p.addr, errNilContext)
	}
	return p.access.lend(ctx)
}

func (m *member) lendLocked() {
	m.becomeLocked(lent)
	m.lane.SetLent(true)
}

// takeBack takes a connection back that was lent. One that is not clean is closed
// and replaced.
func (p *Pool) takeBack(m *member, clean bool) {
	if clean {
		m.lane.SetLent(false)
	}
	p.mu.Lock()
	switch {
	case m.state != lent: // it was closed meanwhile
	case !clean:
		p.leaveLocked(m, errUnclean, true)
	default:
		if m.health.Stirred(m.lane.Progress()) { // which no look has seen
			p.health.Served()
		}
		m.startLocked()
		p.access.offerLocked(m)
	}
	p.mu.Unlock()
}
