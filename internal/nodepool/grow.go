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
	m, asked := p.newMemberLocked(), p.health.At(time.Now())
	p.asked = asked
	p.tasks.Go(func() { p.dial(m, asked) })
}

// newMemberLocked returns a member for a connection that is about to be dialled.
func (p *Pool) newMemberLocked() *member {
	return &member{pool: p, renewal: p.renewals.number}
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
// out. Silent ones that are replaced do not count, up to health.MostTimes of max.
func (p *Pool) wantLocked() bool {
	doubted, leave := p.replacedLocked()
	serving, all := p.size.open+p.size.doubted-doubted+p.dialing, len(p.members)-doubted-leave+p.dialing
	wanted := serving < p.size.target && all < p.size.max && p.spareLocked() || p.health.State() == health.Down
	return wanted && p.dialing < p.health.Dials()
}

// dial makes one connection, for which the server is asked at the given time. It goes on
// when the caller that needed it has left; only Close cancels it.
func (p *Pool) dial(m *member, asked health.Time) {
	began := time.Now()
	lane, steps, err := wire.DialOwned(p.ctx, p.dialer, p.purpose, p.addr, p.ownerOf(m))
	took := time.Since(began)
	p.mu.Lock()
	if now := time.Now(); err == nil && p.health.MustProve(now) {
		asked = p.health.At(now)
		p.mu.Unlock()
		err = p.prove(lane)
		p.mu.Lock()
	}
	p.dialing--
	p.tellDialedLocked(began, took, steps, err)
	if err == nil {
		p.failures.Over()
		p.health.Dialled(time.Now(), steps.Handshake)
		p.health.Connected(took - steps.Handshake)
		p.livesLocked()
		p.joinLocked(m, lane)
		p.rotateLocked(time.Now())
		p.spaceLocked()
		p.growLocked()
	} else {
		p.counters.dialErrors++
		if !p.closed { // else it was cancelled
			p.attemptFailedLocked(asked, err)
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
		p.journal.Panicked(err)
	}
}

func (p *Pool) redialLaterLocked() {
	if p.closed || p.redial != nil {
		return
	}
	least, most := p.health.Backoff(time.Now())
	p.redial = time.AfterFunc(least+rand.N(most-least)+1, p.dialAgain)
}

// redialNowLocked dials now if the pool waits to dial again. It must be called when the reason for
// the wait is gone.
func (p *Pool) redialNowLocked() {
	if p.redial != nil {
		p.redial.Stop()
		p.redial = nil
		p.retryLocked()
	}
}

// spaceLocked makes the next dial wait if connections die young.
func (p *Pool) spaceLocked() {
	if p.health.Spaced() {
		p.redialLaterLocked()
	}
}

func (p *Pool) dialAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redial = nil
	p.retryLocked()
}

// retryLocked grows the pool. If nobody wants another connection any more, what has failed
// says nothing of later.
func (p *Pool) retryLocked() {
	p.growLocked()
	if p.dialing == 0 && p.redial == nil {
		p.health.Unwanted()
	}
}

// startLocked begins to watch over a connection.
func (m *member) startLocked() {
	m.heard = time.Now()
	m.pool.health.Start(&m.health, m.heard, m.lane.Progress())
	_ = m.lane.RoundTrip() // the last one may have been a blocking command's
}
