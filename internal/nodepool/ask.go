package nodepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/wire"
)

// askLocked asks a silent server whether it lives, over a new connection and over idle ones. If
// no connection is left, the dials under way are the question.
func (p *Pool) askLocked() {
	if p.question != nil || p.closed || len(p.members) == 0 {
		return
	}
	for _, m := range p.members {
		if m.freeLocked() {
			p.pingLocked(m)
		}
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.StallTimeout)
	p.question = cancel
	p.tasks.Go(func() {
		defer cancel()
		p.ask(ctx)
	})
}

// withdrawLocked ends the question over a new connection, since the server was heard.
func (p *Pool) withdrawLocked() {
	if p.question != nil {
		p.question()
	}
}

// ask makes a connection, whose handshake the server has to answer. A refusal, as by a server that has
// no room for more clients, is an answer. The connection stays if all others are silent, which may be dead,
// and the pool has none beyond its size.
func (p *Pool) ask(ctx context.Context) {
	p.mu.Lock()
	m, began := &member{pool: p, renewal: p.renewals.number}, time.Now()
	p.mu.Unlock()
	lane, err := wire.DialOwned(ctx, p.dialer, p.purpose, p.addr, p.ownerOf(m))
	p.mu.Lock()
	p.question = nil
	if err == nil || wire.Refusal(err) != nil {
		p.health.Heard(time.Now())
		p.settleLocked()
	}
	joins := err == nil && !p.closed && !p.retired && !p.health.MustProve(time.Now()) &&
		len(p.members)+p.dialing <= p.size.target && !slices.ContainsFunc(p.members, (*member).serves)
	if joins {
		p.counters.dials++
		p.tellDialedLocked(time.Since(began), nil)
		p.joinLocked(m, lane)
	}
	p.mu.Unlock()
	if err == nil && !joins {
		_ = lane.Close()
	}
	p.access.dispatch()
}

// serves reports whether the connection is for callers and not silent.
func (m *member) serves() bool {
	return m.state != leaving && m.state != dedicated && m.pool.health.Silence(&m.health) == 0
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
