package nodepool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// A silent connection may be broken while the server answers on others: a firewall or
// a NAT forgets all connections of a node at once, and drops their packets without a
// word. So the pool puts a silent connection in doubt. Nobody is given it until a byte
// arrives on it, and what is in flight on it stays. The pool pings the connections that
// have not been heard since the silence began, which are in doubt until they answer.
// If the server has not been heard either, it is asked over a new connection. Once the
// server is heard, the pool replaces the connections in doubt: that new connection is
// the first replacement.

// missedLocked notes that a caller has given up on the batch, unless it is complete. If its
// connection has been silent for a doubtful time, the connection is in doubt at once.
func (p *Pool) missedLocked(b *wire.Batch) {
	m, ok := b.Events().(*member)
	if !ok || b.Complete() || m.pool != p || m.state != busy && m.state != shared {
		return
	}
	if p.health.Missed(&m.health, time.Now(), m.lane.Progress()) && m.lane.InFlight() > 0 && !m.lane.Unread() {
		p.doubtLocked(m)
		p.access.changedLocked()
		p.growLocked()
	}
}

// doubtLocked puts a silent connection in doubt, and sees to it that the pool learns of the
// others and of the server.
func (p *Pool) doubtLocked(m *member) {
	since := m.health.WaitsSince()
	m.setDoubtLocked()
	if !p.health.HeardSince(since) {
		p.askLocked()
	}
	if !p.spareLocked() {
		return // nothing would take the places of the others
	}
	for _, o := range p.members {
		if o.state != isIdle && o.state != shared || o.health.HeardSince(since) || o.health.Progressed(o.lane.Progress()) {
			continue
		}
		if o.lane.InFlight() == 0 {
			p.pingLocked(o)
		}
		o.setDoubtLocked()
	}
}

func (m *member) setDoubtLocked() {
	m.doubted.Store(true)
	m.becomeLocked(inDoubt)
	m.pool.access.withdrawLocked(m)
}

// trustLocked ends the doubt about a connection on which bytes have arrived.
func (m *member) trustLocked() {
	m.doubted.Store(false)
	m.health.Trust()
	if !m.pool.shared() && m.lane.InFlight() > 0 {
		m.becomeLocked(busy)
		return
	}
	m.pool.access.offerLocked(m)
}

// spareLocked reports whether the pool may have one more connection, beside those in
// doubt.
func (p *Pool) spareLocked() bool { return len(p.members)+p.dialing < health.MostTimes*p.size.max }

// replacedLocked returns how many connections, in doubt or leaving, do not hold their places:
// those that have been silent for a doubtful time themselves, once the server is known to
// answer.
func (p *Pool) replacedLocked() (doubted, leave int) {
	if len(p.members) == p.size.open || p.question != nil || !p.health.Answers() {
		return 0, 0
	}
	for _, m := range p.members {
		switch {
		case !p.health.Replaces(&m.health):
		case m.state == inDoubt:
			doubted++
		case m.state == leaving:
			leave++
		}
	}
	return doubted, leave
}

// askLocked asks the server whether it lives. If no connection is left, the dials under way are
// the question. If the server was heard after the last of them began, that one may be lost, so
// one more is started.
func (p *Pool) askLocked() {
	switch {
	case p.question != nil || p.closed:
		return
	case len(p.members) == 0:
		if p.redial == nil && p.health.HeardSince(p.asked) && p.dialing < min(p.size.max, p.health.Dials()) {
			p.startDialLocked()
		}
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.StallTimeout)
	p.question = cancel
	p.tasks.Go(func() {
		defer cancel()
		p.probe(ctx)
	})
}

// withdrawLocked withdraws the question that is out. A question that is lost on its way would
// keep the next silence from being asked about.
func (p *Pool) withdrawLocked() {
	if p.question != nil {
		p.question()
	}
}

// probe makes a connection, whose handshake the server has to answer. It replaces one
// that is in doubt, or is closed. A refusal, as by a server that has no room for more
// clients, is an answer.
func (p *Pool) probe(ctx context.Context) {
	p.mu.Lock()
	m, began := p.newMemberLocked(), time.Now()
	p.mu.Unlock()
	lane, steps, err := wire.DialOwned(ctx, p.dialer, p.purpose, p.addr, p.ownerOf(m))
	p.mu.Lock()
	p.question = nil
	if err == nil || wire.Refusal(err) != nil {
		p.health.Answered(time.Now())
		p.livesLocked()
	}
	joins := err == nil && p.adoptsLocked()
	if joins {
		p.counters.dials++
		p.tellDialedLocked(began, time.Since(began), steps, nil)
		p.joinLocked(m, lane)
	}
	if p.size.doubted > 0 {
		p.access.changedLocked()
		p.growLocked()
	}
	p.mu.Unlock()
	if err == nil && !joins {
		_ = lane.Close()
	}
	p.access.dispatch()
}

// adoptsLocked reports whether the connection of an answered question joins the pool. One
// that would have to prove itself does not: the dial that follows does that.
func (p *Pool) adoptsLocked() bool {
	doubted, leave := p.replacedLocked()
	return doubted+leave > 0 && p.wantLocked() && !p.closed && !p.retired && !p.health.MustProve(time.Now())
}

var errNoAnswer = errors.New("no answer within the stall timeout")

// prove sends a PING over a new connection and waits for the reply, whatever it is. A connection
// that fails is closed. A handshake alone is no proof that the server is of use: a server that
// evicts its clients answers handshakes, and would be dialled without end.
func (p *Pool) prove(lane *wire.Lane) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.StallTimeout)
	defer cancel()
	if _, err := wire.Ask(ctx, lane, ping).Reply(0); err == nil {
		return nil
	}
	cause := lane.Err() // not the batch's error, whose outcome is not that of any command of a caller
	if cause == nil {
		cause = errNoAnswer
	}
	_ = lane.Close()
	return fmt.Errorf("the server answered the handshake, but not the PING after it: %w", cause)
}
