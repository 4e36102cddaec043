package pool

import (
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/lanes"
)

// ErrDown says that the server is down: the pool has no connection and its last
// dial failed, or the last connection stalled. Commands fail with it at once,
// until a connection is made again. It wraps lanes.ErrNotSent.
var ErrDown = fmt.Errorf("server down: %w", lanes.ErrNotSent)

// A DownError is ErrDown with the server and the cause.
type DownError struct {
	Addr  string
	Since time.Time // when it fell silent or the first dial failed
	Cause error
}

func (e *DownError) Error() string {
	return fmt.Sprintf("pool: %s: server down for %v: %v", e.Addr, time.Since(e.Since).Round(time.Millisecond), e.Cause)
}

// Unwrap returns ErrDown and the cause.
func (e *DownError) Unwrap() []error { return []error{ErrDown, e.Cause} }

func (p *Pool) downErrorLocked() error { return &DownError{p.addr, p.down, p.lastErr} }

// tripLocked opens the breaker if there is no connection left: those who wait
// fail, and so does who comes next. The probe is a dial with its handshake, one
// at a time and never a caller's command, whose outcome could become unknown.
func (p *Pool) tripLocked(cause error, since time.Time) {
	p.lastErr = cause
	if len(p.members) > 0 {
		return
	}
	if p.down.IsZero() {
		p.down = since
		p.counters.downs++
	}
	p.failWaitersLocked(p.downErrorLocked())
}

// lostLocked trips if the connection was lost because the server has stalled, or
// while it could not be dialled either.
func (p *Pool) lostLocked(err error) {
	since := time.Now()
	if errors.Is(err, lanes.ErrStalled) {
		p.failures++
		since = p.heard
	}
	if p.failures > 0 {
		p.tripLocked(err, since)
	}
}

// recoverLocked closes the breaker.
func (p *Pool) recoverLocked() {
	p.failures, p.lastErr, p.down, p.heard = 0, nil, time.Time{}, time.Now()
}

func refusedHandshake(err error) bool {
	var refused *lanes.HandshakeError
	return errors.As(err, &refused)
}
