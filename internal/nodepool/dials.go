package nodepool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// dials makes the connections of a pool. Everything in it is guarded by Pool.mu.
type dials struct {
	pool     *Pool
	underWay int            // without a question
	begun    uint64         // of all
	failed   uint64         // of these
	redial   *time.Timer    // set while the pool waits to dial again
	question func()         // withdraws the question to the server over a new connection; nil: none is out
	failures guard.Throttle // for the log
}

// growLocked starts the dials that the pool needs and may make now.
func (d *dials) growLocked() {
	p := d.pool
	p.stretchLocked()
	for d.wantedLocked() && d.redial == nil && p.ended == nil {
		d.underWay++
		d.begun++
		m := &member{pool: p, generation: p.generation}
		p.tasks.Go(func() { d.dial(m) })
	}
}

// wantedLocked reports whether one more dial is needed and allowed: up to the
// wanted number of connections, and up to max with those that are on their way
// out. Slow ones that leave do not count: they may take long for what is in flight.
func (d *dials) wantedLocked() bool {
	p, all := d.pool, d.underWay
	for _, m := range p.members {
		if m.state != leaving || !m.health.Slow() {
			all++
		}
	}
	wanted := p.size.open+d.underWay < p.size.target && all < p.size.max || p.health.State() == health.Down
	return wanted && d.underWay < p.health.Dials()
}

// connect makes the connection of a member.
func (d *dials) connect(ctx context.Context, m *member) (*wire.Lane, error) {
	p := d.pool
	o := wire.Owner{Events: m, Errors: &p.errorReplies}
	if p.shared() {
		o.MaxQueued = p.MaxQueued
	}
	return wire.DialFor(ctx, p.dialer, p.purpose, p.addr, o)
}

// dial makes one connection. It goes on when the caller that needed it has left; only Close
// cancels it.
func (d *dials) dial(m *member) {
	p, began := d.pool, time.Now()
	lane, err := d.connect(p.ctx, m)
	took := time.Since(began)
	p.mu.Lock()
	if err == nil && p.health.MustProve(time.Now()) {
		p.mu.Unlock()
		err = p.prove(lane)
		p.mu.Lock()
	}
	d.underWay--
	p.tellDialedLocked(took, err)
	closed := p.closed()
	switch {
	case err == nil:
		d.failures.Over()
		p.health.Dialled(time.Now())
		p.settleLocked()
		p.joinLocked(m, lane)
		p.rotateLocked(time.Now())
		if p.health.Spaced() {
			d.laterLocked()
		}
		d.growLocked()
	case closed: // it was cancelled
		d.failed++
	default:
		d.failed++
		d.failedLocked(err)
	}
	p.mu.Unlock()
	switch {
	case err == nil && closed:
		_ = lane.Close() // which waits for the end of its goroutine
	case err != nil && !closed:
		p.log.Panicked(err)
	}
}

// failedLocked notes that a connection could not be had, and schedules the next dial. The log has a line
// about the first one, and then one in five seconds at most.
func (d *dials) failedLocked(err error) {
	p := d.pool
	if p.ended == nil {
		if n, due := d.failures.Due(time.Now()); due {
			p.noteLocked(guard.DialFailed, n, err)
		}
	}
	p.health.Failed(time.Now(), health.Failure{Kind: kindOf(err), Err: err}, p.members.serving(), d.underWay)
	p.settleLocked()
	d.laterLocked()
}

// kindOf returns what a dial's failure says, or that of the proof behind it. A server that
// refuses the handshake for good is unlikely to change its mind.
func kindOf(err error) health.Kind {
	switch refused := wire.Refusal(err); {
	case refused != nil && !wire.Passes(refused):
		return health.ForGood
	case refused != nil && wire.Busy(refused):
		return health.Passing
	}
	return health.Refused
}

// laterLocked makes the next dial wait.
func (d *dials) laterLocked() {
	p := d.pool
	if p.closed() || d.redial != nil {
		return
	}
	least, most := p.health.Backoff(time.Now())
	d.redial = time.AfterFunc(least+rand.N(most-least)+1, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		d.nowLocked()
	})
}

// nowLocked dials now if the pool waits to dial again. It must be called when the reason for
// the wait is gone. If nobody wants another connection any more, what has failed says nothing of
// later.
func (d *dials) nowLocked() {
	if d.redial == nil {
		return
	}
	d.redial.Stop()
	d.redial = nil
	d.growLocked()
	if d.underWay == 0 && d.redial == nil {
		d.pool.health.Unwanted()
	}
}

// askLocked asks a silent server whether it lives, over a new connection and over idle ones. If
// no connection is left, the dials under way are the question.
func (d *dials) askLocked() {
	p := d.pool
	if d.question != nil || p.closed() || len(p.members) == 0 {
		return
	}
	for _, m := range p.members {
		if m.freeLocked() {
			p.pingLocked(m)
		}
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.StallTimeout)
	d.question = cancel
	m := &member{pool: p, generation: p.generation}
	p.tasks.Go(func() {
		defer cancel()
		d.ask(ctx, m)
	})
}

// ask makes a connection: the server has to answer its handshake. A refusal is an answer, such as that there is
// no room for more clients. The connection stays if all others are silent, since they may be dead, and
// the pool has room for it, without those that leave. Lanes for slow commands do not serve the others.
func (d *dials) ask(ctx context.Context, m *member) {
	p, began := d.pool, time.Now()
	lane, err := d.connect(ctx, m)
	p.mu.Lock()
	d.question = nil
	if err == nil || wire.Refusal(err) != nil {
		p.health.Heard(time.Now())
		p.settleLocked()
	}
	serves := func(m *member) bool {
		return m.state != leaving && m.state != dedicated && !m.slow && p.health.Silence(&m.health) == 0
	}
	joins := err == nil && p.ended == nil && p.size.open+d.underWay <= p.size.target && !slices.ContainsFunc(p.members, serves)
	if joins {
		d.begun++
		p.tellDialedLocked(time.Since(began), nil)
		p.joinLocked(m, lane)
	}
	p.mu.Unlock()
	if err == nil && !joins {
		_ = lane.Close()
	}
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
	cause := lane.Err() // not the batch's error: no caller's command has its outcome
	if cause == nil {
		cause = errNoAnswer
	}
	_ = lane.Close()
	return fmt.Errorf("the server answered the handshake, but not the PING after it: %w", cause)
}
