package nodepool

import "github.com/redislanes/redislanes/internal/wire"

func (m *member) lendLocked() {
	m.becomeLocked(lent)
	m.lane.SetLent(true)
}

// takeBack takes a connection back that was lent, as its user has left it. It is given to
// others once it is as it was. One that is spoilt is closed and replaced.
func (p *Pool) takeBack(m *member, left condition) {
	if left != spoilt {
		m.lane.SetLent(false)
	}
	p.mu.Lock()
	switch {
	case m.state != lent: // it was closed meanwhile
	case left == spoilt:
		p.leaveLocked(m, errUnclean, true)
	default:
		if m.health.Stirred(m.lane.Progress()) { // which no look has seen
			p.health.Served()
		}
		m.startLocked()
		if left == clean || !m.restoreLocked() {
			p.access.offerLocked(m)
		}
	}
	p.mu.Unlock()
}

// restoreLocked has the connection restored unless it leaves anyway. It reports whether that
// is under way: then the connection is offered when the server has answered.
func (m *member) restoreLocked() bool {
	p := m.pool
	if m.spent != nil {
		return false
	}
	var current *wire.Login
	if m.login = p.login.Load(); m.login != nil {
		current = m.login.Login
	}
	m.restore = m.lane.Restore(current)
	if !p.mu.giveLocked(m.lane, &m.restore.Batch, besidePing) {
		m.spent = wire.ErrClosed
		return false
	}
	m.becomeLocked(busy)
	p.attend()
	return true
}
