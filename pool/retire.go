package pool

import (
	"errors"
	"time"

	"github.com/redislanes/redislanes/lanes"
)

// renewAge is the least age of a connection that Renew replaces, so that many
// callers with the same complaint cause one replacement.
const renewAge = time.Second

var errRenewed = errors.New("connection replaced: the server has changed its role")

// Renew replaces the connections, each when nothing is in flight on it: the
// address may lead to another server now. Connections younger than a second
// stay, and so do those that are lent.
func (p *Pool) Renew() {
	now := time.Now()
	p.drainMembers(errRenewed, func(m *member) bool { return now.Sub(m.born) >= renewAge })
	p.mu.Lock()
	parts := p.partsLocked()
	p.mu.Unlock()
	for _, part := range parts {
		part.Renew()
	}
}

// Retire makes the pool refuse batches with ErrClosed, also those that wait,
// and closes each connection when nothing is in flight on it. Lent ones stay
// until Close, which a retired pool still needs.
func (p *Pool) Retire() {
	p.mu.Lock()
	p.retired = true
	p.failWaitersLocked(ErrClosed)
	parts := p.partsLocked()
	p.unlock()
	p.drainMembers(ErrClosed, func(*member) bool { return true })
	for _, part := range parts {
		part.Retire()
	}
}

func (p *Pool) drainMembers(why error, which func(*member) bool) {
	var leaving []*lanes.Lane
	p.mu.Lock()
	for _, m := range p.members {
		if m.state != lent && which(m) {
			p.dropIdleLocked(m)
			leaving = append(leaving, m.lane)
		}
	}
	p.mu.Unlock()
	for _, l := range leaving {
		l.Drain(why)
	}
}
