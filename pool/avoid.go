package pool

import "time"

// A shared connection that is silent with batches in flight may be about to be
// closed (stall.go), and what is put on it now may share its fate. Meanwhile the
// strategies do not see it, unless all are like that.

// avoidShare is which part of StallTimeout a connection is silent for before it
// is avoided: less than the time between two looks of the maintenance, so that it
// is avoided when two looks in a row have seen it silent. With the defaults that
// is after half a second to one.
const avoidShare = 8

// avoidLocked takes silent connections out of the set and puts back those on
// which bytes have arrived. It follows observeLocked.
func (p *Pool) avoidLocked(now time.Time) {
	changed := false
	for _, m := range p.members {
		silent := m.state == shared && !m.waits.IsZero() && now.Sub(m.waits) >= p.StallTimeout/avoidShare
		if m.avoided.Load() != silent {
			m.avoided.Store(silent)
			changed = true
		}
	}
	if changed {
		p.publishLocked()
		p.tasks.Go(p.dispatch) // a lane that is back may have room for those who wait
	}
}

// trust puts a connection that has answered back into the set at once.
func (m *member) trust() {
	p := m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.avoided.Load() {
		m.avoided.Store(false)
		m.waits = time.Time{}
		p.publishLocked()
	}
}
