package nodepool

import (
	"context"
	"time"

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

// mostTimes is how many times its maximum of connections a pool may have while some are
// in doubt.
const mostTimes = 2

// missedLocked notes that a caller has given up on the batch. If its connection has been
// silent for a doubtful time, the connection is in doubt at once.
func (p *Pool) missedLocked(b *wire.Batch) {
	m, ok := b.Events().(*member)
	if !ok || m.pool != p || m.state != busy && m.state != shared {
		return
	}
	m.missed = true
	if !m.waits || m.lane.Progress() != m.progress || m.lane.InFlight() == 0 {
		return
	}
	now := time.Now()
	// Beyond what was planned, this process may have been too busy to read.
	silence := m.silent + min(max(0, now.Sub(p.looked)), p.planned)
	if silence >= p.watch.doubtful() {
		p.doubtLocked(m, now.Add(-silence))
		p.access.changedLocked()
		p.growLocked()
	}
}

// silentLocked reports whether the last look has shown that the connection is to be put
// in doubt.
func (p *Pool) silentLocked(m *member) bool {
	switch m.state {
	case isIdle, busy, shared: // an idle one has a PING in flight
		return m.silent >= p.watch.unusual() || m.missed && m.silent >= p.watch.doubtful()
	}
	return false
}

// doubtLocked puts a connection in doubt that has been silent since the given time, and
// sees to it that the pool learns of the others and of the server.
func (p *Pool) doubtLocked(m *member, since time.Time) {
	p.counters.silences++
	m.setDoubtLocked()
	if !p.heard.After(since) {
		p.askLocked()
	}
	if !p.spareLocked() {
		return // nothing would take the places of the others
	}
	for _, o := range p.members {
		if o.state != isIdle && o.state != shared || o.since.After(since) || o.lane.Progress() != o.progress {
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
	m.silent = 0
	if !m.pool.shared() && m.lane.InFlight() > 0 {
		m.becomeLocked(busy)
		return
	}
	m.pool.access.offerLocked(m)
}

// spareLocked reports whether the pool may have one more connection, beside those in
// doubt.
func (p *Pool) spareLocked() bool { return len(p.members)+p.dialing < mostTimes*p.Max }

// replacedLocked returns how many connections in doubt do not hold their places: those
// that have been silent for a doubtful time themselves, once the server is known to
// answer.
func (p *Pool) replacedLocked() (n int) {
	if p.size.doubted == 0 || p.question != nil || p.watch.stage != answers {
		return 0
	}
	for _, m := range p.members {
		if m.state == inDoubt && (m.missed || m.silent >= p.watch.doubtful()) {
			n++
		}
	}
	return n
}

// askLocked asks the server whether it lives. While no connection is left, the
// dials of the breaker do.
func (p *Pool) askLocked() {
	if p.question != nil || p.closed || len(p.members) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.StallTimeout)
	p.question = cancel
	p.tasks.Go(func() {
		defer cancel()
		p.probe(ctx)
	})
}

// probe makes a connection, whose handshake the server has to answer. It replaces one
// that is in doubt, or is closed. A refusal, as by a server that has no room for more
// clients, is an answer.
func (p *Pool) probe(ctx context.Context) {
	p.mu.Lock()
	m, began := p.newMemberLocked(), time.Now()
	p.mu.Unlock()
	lane, steps, err := wire.DialTimed(ctx, p.dialer, m.asking(), p.addr, m)
	p.mu.Lock()
	p.question = nil
	if err == nil || refusedHandshake(err) {
		p.livesLocked(p.watch.answered())
	}
	joins := err == nil && p.adoptsLocked()
	if joins {
		p.counters.dials++
		lane.CountErrors(&p.errorReplies)
		lane.CountTraffic(&p.traffic)
		p.mu.noteConnLocked(connEvent{began: began, lasted: time.Since(began), steps: steps})
		p.joinLocked(m, lane)
	}
	if p.size.doubted > 0 {
		p.access.changedLocked()
		p.growLocked()
	}
	p.mu.Unlock()
	if err == nil && !joins {
		_ = lane.Close() // which may take its time
	}
	p.access.dispatch()
}

// adoptsLocked reports whether the connection of an answered question joins the pool. One
// that would have to prove itself does not: the dial that follows does that.
func (p *Pool) adoptsLocked() bool {
	return p.replacedLocked() > 0 && p.wantLocked() && !p.closed && !p.retired && !p.doubtfulLocked()
}
