package nodepool

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/wire"
)

// Connections are authenticated again before the server cuts them (Dialer.ReauthEvery).
// The main pool of a node asks for credentials for all, on a goroutine of its own. Each
// connection is sent AUTH as idle ones are sent PING: between the batches of
// callers, and while no user has it for itself. If the server refuses, the connection stays as it is.

var errExpiring = errors.New("connection replaced: it was in use when the others sent AUTH again")

// A login is credentials for all connections of a node. What servers answer is noted by
// all pools.
type login struct {
	*wire.Login
	until   time.Time // may be sent
	sent    atomic.Bool
	taken   atomic.Bool
	refused atomic.Pointer[error] // what the last server has said that does not take them
	judged  bool                  // a failure followed, and it shows nothing any more; guarded by the main pool's mu
}

// An auth is an AUTH that was sent.
type auth struct {
	*login
	batch *wire.Batch
}

// logins is what the main pool of a node knows of credentials.
type logins struct {
	next     time.Time // when others are asked for
	asking   bool
	failures int       // in a row
	since    time.Time // the first of these
}

// authenticateLocked sends AUTH over connections that have no current login, and sees to
// it that others are asked for in time.
func (p *Pool) authenticateLocked(now time.Time) {
	p.spreadLoginLocked()
	if p.dialer.ReauthEvery == 0 || p.beside() || p.closed || p.retired || p.logins.asking {
		return
	}
	p.judgeLoginLocked(now)
	if !now.Before(p.logins.next) {
		p.logins.asking = true
		p.tasks.Go(p.askLogin)
	}
}

func (p *Pool) spreadLoginLocked() {
	for _, m := range p.members {
		if m.readLoginLocked(); m.state == isIdle || m.state == shared {
			m.sendLoginLocked()
		}
	}
}

// sendLoginLocked sends AUTH unless the connection has the current login. If the lane has
// no room, the next look does it. A connection that was dedicated to a user for too long is replaced, if
// there is reason to think that another one can be had. It reports whether it stays.
func (m *member) sendLoginLocked() (stays bool) {
	p, l := m.pool, m.pool.login.Load()
	if m.login == l || m.auth != nil {
		return true
	}
	if time.Now().After(l.until) {
		if l.refused.Load() != nil || l.sent.Load() && !l.taken.Load() || p.health.Against() {
			return true
		}
		p.leaveLocked(m, errExpiring, false)
		return false
	}
	a := &auth{l, l.Question()}
	if p.mu.giveLocked(m.lane, a.batch, p.MaxInFlight+besidePing) {
		m.login, m.auth = l, a
		l.sent.Store(true)
		p.attend()
	}
	return true
}

// restoreBy returns the login by which the connection is to be restored: the node's, or nil for that of the
// connection's dial. ok is false if both were asked for too long ago: a token may have ended.
func (m *member) restoreBy(l *login, now time.Time) (by *wire.Login, ok bool) {
	if l != nil && !now.After(l.until) {
		return l.Login, true
	}
	return nil, !m.lane.CredentialsMayChange() || now.Sub(m.born) <= loginAge
}

// readLoginLocked notes what the server has answered to AUTH.
func (m *member) readLoginLocked() {
	a := m.auth
	if a == nil || !a.batch.Complete() {
		return
	}
	m.auth = nil
	reply, err := a.batch.Reply(0)
	if err != nil {
		return // the connection has ended
	}
	if err = a.Refusal(reply); err != nil {
		a.refused.Store(&err)
	} else {
		a.taken.Store(true)
	}
}

// judgeLoginLocked draws the conclusions from the answers.
func (p *Pool) judgeLoginLocked(now time.Time) {
	l := p.login.Load()
	switch {
	case l == nil || l.judged:
	case l.refused.Load() != nil:
		p.loginFailedLocked(now, *l.refused.Load())
	case l.taken.Load() && p.logins.failures > 0:
		p.noteStateLocked(slog.LevelInfo, "authenticated again", "after", now.Sub(p.logins.since))
		p.logins.failures = 0
	}
}

// loginFailedLocked sees to it that others are asked for soon. The first failure in a row
// is logged.
func (p *Pool) loginFailedLocked(now time.Time, err error) {
	l := &p.logins
	if current := p.login.Load(); current != nil {
		current.judged = true
	}
	if l.failures++; l.failures == 1 {
		l.since = now
		p.noteStateLocked(slog.LevelWarn, "re-authentication failed; connections stay open", "error", err)
	}
	limit := renewPause
	for i := 1; i < l.failures && limit < maxLoginPause; i++ {
		limit *= 2
	}
	limit = min(limit, maxLoginPause, p.dialer.ReauthEvery)
	l.next = now.Add(limit/2 + rand.N(limit/2+1))
}

// askLogin asks for credentials, and gives them to all connections. The other pools send
// them when they look after their connections.
func (p *Pool) askLogin() {
	asked, err := wire.AskLogin(p.ctx, p.dialer)
	p.mu.Lock()
	now := time.Now()
	p.logins.asking = false
	if err == nil {
		p.logins.next = p.loginAfter(now)
	} else {
		p.loginFailedLocked(now, err)
	}
	if asked != nil {
		p.login.Store(&login{Login: asked, until: now.Add(loginAge)})
		p.spreadLoginLocked()
	}
	p.mu.Unlock()
	if err != nil {
		p.journal.Panicked(err)
	}
}

// loginAfter returns when credentials are asked for again.
func (p *Pool) loginAfter(now time.Time) time.Time { return now.Add(spread(p.dialer.ReauthEvery)) }
