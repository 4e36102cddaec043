package pool

import (
	"math/rand/v2"
	"time"
)

// maxDials bounds the dials at a time to one server, so that a failover does
// not end in a storm of connections.
const maxDials = 4

// growLocked starts the dials that the pool needs and may make now.
func (p *Pool) growLocked() {
	for p.wantLocked() && p.dialing < maxDials && p.redial == nil && !p.closed {
		p.dialing++
		p.counters.dials++
		p.tasks.Go(p.dial)
	}
}

// wantLocked reports whether one more connection is needed: up to min always,
// up to max while more wait than are being dialled.
func (p *Pool) wantLocked() bool {
	open := len(p.members) + p.dialing
	return open < p.min || open < p.max && p.queue.Len() > p.dialing
}

// dial makes one connection. It goes on when the caller that needed it has
// left; only Close cancels it.
func (p *Pool) dial() {
	m := &member{pool: p}
	lane, err := p.dialer.DialFor(p.ctx, p.addr, m)
	p.mu.Lock()
	p.dialing--
	if err != nil {
		p.dialFailedLocked(err)
		return
	}
	p.failures, p.lastErr = 0, nil
	m.lane = lane
	if p.closed || m.state == gone {
		p.growLocked()
		p.mu.Unlock()
		_ = lane.Close()
		return
	}
	m.progress, m.since = lane.Progress(), time.Now()
	p.members = append(p.members, m)
	flush := false
	if p.shared {
		m.state = shared
		p.publishLocked()
	} else {
		flush = p.freeLocked(m)
	}
	p.growLocked()
	p.mu.Unlock()
	switch {
	case p.shared:
		p.dispatch()
	case flush:
		lane.Flush()
	}
}

// dialFailedLocked schedules the next dial and, if there is no connection at
// all, fails those who wait. It unlocks mu.
func (p *Pool) dialFailedLocked(err error) {
	p.failures++
	p.counters.dialErrors++
	p.lastErr = err
	if len(p.members) == 0 && p.dialing == 0 {
		p.failWaitersLocked(err)
	}
	closed := p.closed
	if !closed && p.redial == nil {
		p.redial = time.AfterFunc(p.backoffLocked(), p.dialAgain)
	}
	p.mu.Unlock()
	if !closed {
		p.log.Warn("dial failed", "addr", p.addr, "error", err)
	}
}

// backoffLocked returns a random time, "full jitter", up to MinBackoff doubled
// for every failure but the first. Source: M. Brooker, "Exponential Backoff
// and Jitter", AWS Architecture Blog, 2015.
func (p *Pool) backoffLocked() time.Duration {
	limit := p.MinBackoff
	for i := 1; i < p.failures && limit < p.MaxBackoff; i++ {
		limit *= 2
	}
	return rand.N(min(limit, p.MaxBackoff)) + 1
}

func (p *Pool) dialAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redial = nil
	if p.failures > 0 && len(p.members) == 0 && p.dialing == 0 && !p.closed {
		// One dial tells whether the server is back.
		p.dialing++
		p.counters.dials++
		p.tasks.Go(p.dial)
		return
	}
	p.growLocked()
}
