package nodepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
)

// A handshake that was answered is no proof that the server is of use: one that
// evicts its clients, or a balancer without anybody behind it, answers and hangs
// up. So a connection that dies young counts as a failed dial or spaces the next
// one, and while there is such trouble a new connection has to answer a PING before
// anybody is given it. Without that, a server that evicted its clients got 30,000
// connections in two seconds.

const (
	// youth is how long a connection must live to say nothing against its
	// server when it is closed. A proxy that reaps idle connections gives them
	// seconds.
	youth = 250 * time.Millisecond

	// sparedEarly is how many connections in a row may be of use and die young
	// before dials are spaced: to restart a server, or to kill its clients, is
	// no trouble that lasts.
	sparedEarly = 8
)

// An omen is what the end of a connection says about its server.
type omen uint8

const (
	lived     omen = iota // nothing
	early                 // the next dial should be spaced
	stillborn             // the dial has failed
)

// judgeEnd judges a connection that was closed at the given age. answered says
// whether the server has sent anything on it after the handshake.
func judgeEnd(reason string, age time.Duration, answered bool) omen {
	switch {
	case slices.Contains(ourReasons, reason) || age >= youth:
		return lived
	case answered:
		return early
	}
	return stillborn
}

// ourReasons are those for which a pool closes connections itself. What a stall
// means is the watchdog's business.
var ourReasons = []string{redislanes.CloseByClient, redislanes.CloseIdle, redislanes.CloseUnclean, redislanes.CloseRenewed, redislanes.CloseAged, redislanes.CloseStalled}

// judgeEndLocked draws the conclusions from the end of a connection.
func (p *Pool) judgeEndLocked(m *member, err error) {
	now := time.Now()
	switch judgeEnd(closeReason(err), now.Sub(m.born), m.lane.Progress() > 0) {
	case lived:
		p.lostLocked(m, err)
	case early:
		p.countEarlyLocked(now)
		p.spaceLocked()
	case stillborn:
		p.countEarlyLocked(now)
		p.attemptFailedLocked(m.born, fmt.Errorf("the connection was closed %v after the handshake: %w", now.Sub(m.born).Round(time.Millisecond), err))
	}
}

// spacedLocked reports whether dials are to be spaced although they succeed.
func (p *Pool) spacedLocked() bool { return p.early > sparedEarly }

// spaceLocked makes the next dial wait, if so.
func (p *Pool) spaceLocked() {
	if p.spacedLocked() {
		p.redialLaterLocked()
	}
}

func (p *Pool) countEarlyLocked(now time.Time) {
	p.grownUpLocked(now)
	p.early++
	p.lastEarly = now
}

// grownUpLocked ends the row of connections that died young if one that was made
// since the last of them has not.
func (p *Pool) grownUpLocked(now time.Time) {
	if p.early > 0 && slices.ContainsFunc(p.members, func(m *member) bool {
		return m.born.After(p.lastEarly) && now.Sub(m.born) >= youth
	}) {
		p.early = 0
	}
}

// doubtfulLocked reports whether a new connection has to prove itself.
func (p *Pool) doubtfulLocked() bool {
	p.grownUpLocked(time.Now())
	return p.failures+p.early > 0
}

var errNoAnswer = errors.New("no answer within the stall timeout")

// prove sends a PING over a new connection and waits for the reply, whatever it
// is. A connection that fails is closed.
func (p *Pool) prove(lane *wire.Lane) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.StallTimeout)
	defer cancel()
	call, b := newPing()
	wire.RoundTrip(ctx, lane, call, b)
	if _, err := b.Reply(0); err == nil {
		return nil
	}
	cause := lane.Err() // not the batch's error, whose outcome is not that of any command of a caller
	if cause == nil {
		cause = errNoAnswer
	}
	p.tasks.Go(func() { _ = lane.Close() }) // which may take its time
	return fmt.Errorf("the handshake was answered and a PING after it was not: %w", cause)
}
