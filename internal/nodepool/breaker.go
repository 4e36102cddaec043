package nodepool

import (
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/wire"
)

// A breaker is what the pool knows of dials, and of connections that have ended.
//
// It is our own because the libraries for breakers count results of calls and let a
// caller's call through as the probe: a caller's INCRBY must never be one, as its
// outcome could become unknown, and connections say more than results do.
type breaker struct {
	dialing   int
	failures  int       // dials that failed, or stalls, in a row
	lastErr   error     // of these
	gaveUp    bool      // the last dial had no answer in time
	unheard   time.Time // since when the last of these had no answer; zero: it had one
	heard     time.Time // when the server last showed life
	early     int       // connections in a row that were of use and died young
	lastEarly time.Time
	down      time.Time   // since when the server is down; zero: it is up, as far as is known
	redial    *time.Timer // set while the pool waits to dial again

	dialsFailed guard.Throttle // of the log

	refuses atomic.Bool // whether downErrorLocked returns an error, for those who have not got mu
}

// downErrorLocked returns why nothing is sent to the server, nil if it is up as
// far as is known.
func (p *Pool) downErrorLocked() error {
	switch {
	case !p.down.IsZero():
		return p.downSince(p.down, p.lastErr)
	case p.watch.stage == suspect:
		return p.downSince(p.silentSince, redislanes.ErrSuspect)
	}
	return nil
}

func (p *Pool) downSince(since time.Time, cause error) *redislanes.DownError {
	return &redislanes.DownError{Addr: p.addr, Since: since, Cause: cause, Lasted: time.Since(since)}
}

// Down returns why nothing is sent to the server: a redislanes.DownError, or nil
// if it is neither down nor suspect, as far as is known, which costs one atomic
// load.
func (p *Pool) Down() error {
	if !p.refuses.Load() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.downErrorLocked()
}

// judgedLocked must be called after every change of what downErrorLocked looks at.
func (p *Pool) judgedLocked() {
	p.refuses.Store(!p.down.IsZero() || p.watch.stage == suspect)
}

// suspectLocked opens the breaker though there are connections: those who wait
// fail, and so does who comes next. What is in flight stays: it may be about to run,
// and to close its connection would make its outcome unknown.
func (p *Pool) suspectLocked(since time.Time) {
	p.silentSince = since
	p.counters.suspects++
	p.judgedLocked()
	p.failWaitersLocked(p.downErrorLocked())
}

// livesLocked is told that the server has shown life, and whether that ends a
// suspicion.
func (p *Pool) livesLocked(cleared bool) {
	p.silentSince, p.heard = time.Time{}, time.Now()
	p.judgedLocked()
	p.withdrawLocked()
	if cleared {
		p.access.changedLocked()
	}
}

// withdrawLocked withdraws the question that is out: lost on its way, it would stand in
// for that of the next silence.
func (p *Pool) withdrawLocked() {
	if p.question != nil {
		p.question()
	}
}

// tripLocked opens the breaker if there is no connection left: those who wait
// fail, and so does who comes next. The probe is a dial with its handshake, one
// at a time and never a caller's command, whose outcome could become unknown.
func (p *Pool) tripLocked(cause error) {
	p.lastErr = cause
	if len(p.members) > 0 {
		return
	}
	if p.down.IsZero() {
		p.down = time.Now()
		if !p.silentSince.IsZero() {
			p.down = p.silentSince // the trouble is the same
		}
		p.counters.downs++
		p.noteStateLocked(slog.LevelWarn, "server down", "error", cause)
	}
	p.judgedLocked()
	p.failWaitersLocked(p.downErrorLocked())
}

// lostLocked trips if the connection was lost because the server has stalled,
// while it could not be dialled either, or while it is suspect: without a
// connection nobody would ask it again. One that has stalled may take its time to
// end, and then says nothing of a server that has shown life meanwhile.
func (p *Pool) lostLocked(m *member, err error) {
	switch {
	case errors.Is(err, redislanes.ErrStalled):
		p.failures, p.unheard = p.failures+1, m.stalled
	case p.lastErr != nil:
		err = p.lastErr // why it cannot be dialled says more than how a connection ended
	}
	if p.failures > 0 && !p.outlivedLocked() || p.watch.stage == suspect {
		p.tripLocked(err)
	}
}

// outlivedLocked reports whether the last failure was a silence, and the server has shown
// life since that began: a dial that was lost in an outage is given up seconds after it,
// and says nothing of the server then.
func (p *Pool) outlivedLocked() bool {
	return !p.unheard.IsZero() && p.heard.After(p.unheard) && p.watch.stage != suspect
}

// recoverLocked closes the breaker: a dial has succeeded.
func (p *Pool) recoverLocked() {
	if !p.down.IsZero() {
		p.noteStateLocked(slog.LevelInfo, "server up again", "after", time.Since(p.down))
	}
	p.forgiveLocked()
	p.down = time.Time{}
	p.dialsFailed.Over()
	p.livesLocked(p.watch.answered())
}

// forgiveLocked forgets the failures.
func (p *Pool) forgiveLocked() {
	p.failures, p.lastErr, p.gaveUp, p.unheard = 0, nil, false, time.Time{}
}

// unanswered reports whether a dial, or the proof behind it, was given up without an answer.
func unanswered(err error) bool {
	var late net.Error
	return errors.Is(err, errNoAnswer) || errors.As(err, &late) && late.Timeout()
}

func refusedHandshake(err error) bool {
	var refused *redislanes.HandshakeError
	return errors.As(err, &refused)
}

// refusedForGood reports whether the server is unlikely to change its mind.
func refusedForGood(err error) bool {
	var refused *redislanes.HandshakeError
	return errors.As(err, &refused) && !wire.Passes(refused)
}
