package nodepool

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// growLocked starts the dials that the pool needs and may make now.
func (p *Pool) growLocked() {
	p.stretchLocked()
	for p.wantLocked() && p.redial == nil && !p.closed && !p.retired {
		p.startDialLocked()
	}
}

func (p *Pool) startDialLocked() {
	p.dialing++
	p.counters.dials++
	m := &member{pool: p, renewal: p.renewals.number}
	p.tasks.Go(func() { p.dial(m) })
}

// ownerOf returns what the lane of the member is told of its pool.
func (p *Pool) ownerOf(m *member) wire.Owner {
	o := wire.Owner{Events: m, Errors: &p.errorReplies}
	if p.shared() {
		o.MaxQueued = p.MaxQueued
	}
	return o
}

// wantLocked reports whether one more dial is needed and allowed: up to the
// wanted number of connections, and up to max with those that are on their way
// out. Slow ones that leave do not count: they may take long for what is in flight.
func (p *Pool) wantLocked() bool {
	all := p.dialing
	for _, m := range p.members {
		if m.state != leaving || !m.health.Slow() {
			all++
		}
	}
	wanted := p.size.open+p.dialing < p.size.target && all < p.size.max || p.health.State() == health.Down
	return wanted && p.dialing < p.health.Dials()
}

// dial makes one connection. It goes on when the caller that needed it has left; only Close
// cancels it.
func (p *Pool) dial(m *member) {
	began := time.Now()
	lane, err := wire.DialOwned(p.ctx, p.dialer, p.purpose, p.addr, p.ownerOf(m))
	took := time.Since(began)
	p.mu.Lock()
	if err == nil && p.health.MustProve(time.Now()) {
		p.mu.Unlock()
		err = p.prove(lane)
		p.mu.Lock()
	}
	p.dialing--
	p.tellDialedLocked(took, err)
	if err == nil {
		p.failures.Over()
		p.health.Dialled(time.Now())
		p.settleLocked()
		m.slow = p.joinsSlowLocked()
		p.joinLocked(m, lane)
		p.rotateLocked(time.Now())
		p.spaceLocked()
		p.growLocked()
	} else {
		p.counters.dialErrors++
		if !p.closed { // else it was cancelled
			p.attemptFailedLocked(err)
		}
	}
	ended := p.closed
	p.mu.Unlock()
	switch {
	case err == nil && ended:
		_ = lane.Close() // which waits for the end of its goroutine
	case err == nil:
		p.access.dispatch()
	case !ended:
		p.log.Panicked(err)
	}
}

func (p *Pool) redialLaterLocked() {
	if p.closed || p.redial != nil {
		return
	}
	least, most := p.health.Backoff(time.Now())
	p.redial = time.AfterFunc(least+rand.N(most-least)+1, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.redialNowLocked()
	})
}

// redialNowLocked dials now if the pool waits to dial again. It must be called when the reason for
// the wait is gone. If nobody wants another connection any more, what has failed says nothing of
// later.
func (p *Pool) redialNowLocked() {
	if p.redial == nil {
		return
	}
	p.redial.Stop()
	p.redial = nil
	p.growLocked()
	if p.dialing == 0 && p.redial == nil {
		p.health.Unwanted()
	}
}

// spaceLocked makes the next dial wait if connections die young.
func (p *Pool) spaceLocked() {
	if p.health.Spaced() {
		p.redialLaterLocked()
	}
}

// startLocked begins to watch over a connection.
func (m *member) startLocked() {
	m.heard = time.Now()
	m.health = health.Conn{}
	m.lane.ForgetReplyTime()
}
