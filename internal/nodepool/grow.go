package nodepool

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/internal/wire"
)

// maxDials bounds the dials at a time to one server, so that a failover does
// not end in a storm of connections.
const maxDials = 4

// growLocked starts the dials that the pool needs and may make now.
func (p *Pool) growLocked() {
	p.stretchLocked()
	for p.wantLocked() && p.redial == nil && !p.closed && !p.retired {
		p.dialing++
		p.counters.dials++
		m := p.newMemberLocked()
		p.tasks.Go(func() { p.dial(m) })
	}
}

// newMemberLocked returns a member for a connection that is about to be dialled.
func (p *Pool) newMemberLocked() *member {
	return &member{pool: p, renewal: p.renewals.number, login: p.logins.current}
}

// wantLocked reports whether one more dial is needed and allowed: up to the
// wanted number of connections, and up to max with those that are on their way
// out. Those in doubt that are replaced do not count, up to mostTimes of max. After a
// failure one dial tells whether the server is back, unless that is known already: the
// dial that is out may have been lost before.
func (p *Pool) wantLocked() bool {
	limit := maxDials
	if p.failures > 0 && !p.outlivedLocked() || !p.down.IsZero() || p.spacedLocked() {
		limit = 1
	}
	replaced := p.replacedLocked()
	serving, all := p.size.open+p.size.doubted-replaced+p.dialing, len(p.members)-replaced+p.dialing
	wanted := serving < p.size.target && all < p.Max && p.spareLocked() || !p.down.IsZero()
	return wanted && p.dialing < limit
}

// dial makes one connection. It goes on when the caller that needed it has
// left; only Close cancels it.
func (p *Pool) dial(m *member) {
	began := time.Now()
	lane, steps, err := wire.DialTimed(p.ctx, p.dialer, m.asking(), p.addr, m)
	took, asked := time.Since(began), began
	if err == nil {
		lane.CountErrors(&p.errorReplies)
		lane.CountTraffic(&p.traffic)
	}
	p.mu.Lock()
	if err == nil && p.doubtfulLocked() {
		p.mu.Unlock()
		asked = time.Now()
		err = p.prove(lane)
		p.mu.Lock()
	}
	p.dialing--
	p.mu.noteConnLocked(connEvent{began: began, lasted: took, steps: steps, err: err})
	if err == nil {
		p.recoverLocked()
		p.watch.dialled(steps.Handshake)
		p.joinLocked(m, lane)
		p.rotateLocked(time.Now())
		p.spaceLocked()
		p.growLocked()
	} else {
		p.counters.dialErrors++
		p.attemptFailedLocked(asked, err)
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

// attemptFailedLocked notes that a connection could not be had, for which the server was
// asked at the given time, and schedules the next dial.
func (p *Pool) attemptFailedLocked(asked time.Time, err error) {
	p.noteDialFailedLocked(err)
	p.failures++
	p.lastErr, p.gaveUp, p.unheard = err, unanswered(err), time.Time{}
	if p.gaveUp {
		p.unheard = asked
	}
	if p.dialing == 0 && !p.outlivedLocked() {
		p.tripLocked(err)
	}
	p.redialLaterLocked()
}

func (p *Pool) redialLaterLocked() {
	if !p.closed && p.redial == nil {
		p.redial = time.AfterFunc(p.backoffLocked(), p.dialAgain)
	}
}

// backoffLocked returns a random time, "full jitter", up to MinBackoff doubled
// for every failure in a row but the first, and for every connection that died
// young; while the server is down, no longer than half of the time that it has
// been so. Source: M. Brooker, "Exponential Backoff
// and Jitter", AWS Architecture Blog, 2015. A server that refused the handshake for
// good, because of a wrong password, is asked again slowly.
func (p *Pool) backoffLocked() time.Duration {
	if refusedForGood(p.lastErr) {
		return p.MaxBackoff/2 + rand.N(p.MaxBackoff/2+1)
	}
	limit := p.MinBackoff
	for i := 1; i < p.failures+max(0, p.early-sparedEarly) && limit < p.MaxBackoff; i++ {
		limit *= 2
	}
	if !p.down.IsZero() && p.early == 0 {
		limit = min(limit, max(p.MinBackoff, time.Since(p.down)/2))
	}
	return rand.N(min(limit, p.MaxBackoff)) + 1
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
	if p.dialing == 0 && p.redial == nil && p.down.IsZero() {
		p.forgiveLocked()
	}
}

// startLocked begins to watch over a connection.
func (m *member) startLocked() {
	m.progress, m.since, m.waits, m.silent, m.missed = m.lane.Progress(), time.Now(), false, 0, false
	_ = m.lane.Trip() // the last one may have been a blocking command's
}
