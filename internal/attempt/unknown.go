package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

// An Unknown is the error of the first try in which a command may have run. The zero value says
// that there was none. After that try, only a reply about the command says what became of it. A
// command that only reads leaves none.
type Unknown struct{ first error }

// ErrEarly is the error of a command that ran before the command on its key, and is sent
// again with it.
var ErrEarly = errors.New("it ran before the command on its key did")

// Note notes that the command may have run in the try that ended with the error.
func (u *Unknown) Note(err error) {
	if u.first == nil {
		u.first = err
	}
}

// Any reports whether the command may have run.
func (u *Unknown) Any() bool { return u.first != nil }

// Final returns the step of a command that did not run in its last try and is not sent
// again. It may have run in an earlier one.
func (u *Unknown) Final() Step {
	if u.first != nil {
		return Ran
	}
	return Stands
}

// Settled tells whether the reply of the last try, or the error in place of one, says what
// became of the command.
func (u *Unknown) Settled(reply []byte, err error) bool {
	return u.first == nil || err == nil && settles(reply) || errors.Is(err, redislanes.ErrUnknownOutcome)
}

// settles tells whether the reply to a command that was sent again is its outcome. An error
// that is not known to be about the command may come from a server that did not look at it.
func settles(reply []byte) bool {
	if !resp.IsError(reply) {
		return true
	}
	return fate.Of(resp.ErrorText(reply)).AboutCommand()
}

// Error returns the error of a command that may have run. again is the error of the repeat.
func (u *Unknown) Error(again error) error {
	e := &redislanes.Error{Outcome: redislanes.ErrUnknownOutcome}
	first := u.first
	var lost *redislanes.Error
	if errors.As(first, &lost) {
		e.Addr, first = lost.Addr, lost.Cause
	}
	e.Cause = &repeated{first, again, e.Addr}
	return e
}

// repeated says why the outcome of a command is unknown although it was sent again. In the
// error of the repeat, errors.Is finds only the end of the context. ErrNotSent, ErrRefused,
// ErrDown and the server's error are about the repeat alone.
type repeated struct {
	first, again error
	addr         string // where the first try was sent, if it is known
}

func (r *repeated) Error() string {
	why := strings.TrimPrefix(r.again.Error(), "redislanes: ")
	if r.addr != "" {
		why = strings.TrimPrefix(why, r.addr+": ") // which the error has said
	}
	return fmt.Sprintf("%v; sent again, the repeat: %s", r.first, why)
}

func (r *repeated) Unwrap() error { return r.first }

func (r *repeated) Is(target error) bool {
	return (errors.Is(target, context.DeadlineExceeded) || errors.Is(target, context.Canceled)) && errors.Is(r.again, target)
}
