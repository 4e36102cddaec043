package nodepool

import (
	"errors"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
)

// Package health judges the server. The pool tells it what happens, under mu, and does
// what it says: here, refusing batches and drawing conclusions from connections that end.
//
// No library for breakers is used: they probe with a caller's call. A caller's INCRBY must not
// be the probe, since its outcome could become unknown.

// healthLimits returns the settings that are about health.
func (s settings) healthLimits() health.Limits {
	return health.Limits{SuspectAfter: s.SuspectAfter, StallTimeout: s.StallTimeout, MinBackoff: s.MinBackoff, MaxBackoff: s.MaxBackoff}
}

// downErrorLocked returns why nothing is sent to the server, nil if it is up as
// far as is known.
func (p *Pool) downErrorLocked() error {
	why := p.health.Failure().Err
	switch p.health.State() {
	case health.Up:
		return nil
	case health.Suspect:
		why = cause.ErrSuspect
	}
	since := p.health.Since()
	return &cause.Down{Addr: p.addr, Since: since, Cause: why, Lasted: time.Since(since)}
}

// Down returns why nothing is sent to the server: a cause.Down, or nil
// if it is neither down nor suspect, as far as is known, which costs one atomic
// load.
func (p *Pool) Down() error {
	if health.State(p.outage.Load()) == health.Up {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.downErrorLocked()
}

func (p *Pool) heardWithin(d time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health.HeardWithin(time.Now(), d)
}

// settleLocked must be called after each event that may change the state of the server. If
// the server is suspect or down now, queued batches fail, and new ones fail immediately. What
// is in flight stays: it may be about to run, and to close its connection would make its
// outcome unknown.
func (p *Pool) settleLocked() {
	was, is := health.State(p.outage.Load()), p.health.State()
	if was == is {
		return
	}
	p.outage.Store(uint32(is))
	if was == health.Up {
		p.counters.downs++
	}
	p.noteOutageLocked(was, is)
	if is != health.Up {
		p.failWaitersLocked(p.downErrorLocked())
	}
	p.access.changedLocked()
}

// attemptFailedLocked notes that a connection could not be had, and schedules the next dial.
func (p *Pool) attemptFailedLocked(err error) {
	p.noteDialFailedLocked(err)
	p.health.Failed(time.Now(), health.Failure{Kind: kindOf(err), Err: err}, p.servingLocked(), p.dialing)
	p.settleLocked()
	p.redialLaterLocked()
}

// servingLocked returns the number of connections without those that wait for data. Their users may
// keep them for long.
func (p *Pool) servingLocked() int {
	n := len(p.members)
	for _, m := range p.members {
		if m.state == dedicated && m.mayBeQuiet() {
			n--
		}
	}
	return n
}

// judgeEndLocked draws the conclusions from the end of a connection.
func (p *Pool) judgeEndLocked(m *member, err error) {
	now, reason := time.Now(), closeReason(err)
	if now.Sub(m.born) < health.Youth && !slices.Contains(ourReasons, reason) {
		p.health.DiedYoung(now)
		p.spaceLocked()
		return
	}
	p.health.Lost(now, errors.Is(err, cause.ErrStalled), err, p.servingLocked())
	p.settleLocked()
}

// ourReasons are those for which a pool closes connections itself.
var ourReasons = []string{"client", "idle", "unclean", "renewed", "aged", "stalled"}

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
