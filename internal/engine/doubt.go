package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

// doubt notes that the i-th command may have run in the try that ended with the error.
// From then on only a reply about the command says what became of it. A command that only
// reads leaves no doubt.
func (x *retry) doubt(i int, err error) {
	if a := &x.attempts[i]; a.doubt == nil && x.request.marks[i]&markReads == 0 {
		a.doubt = err
	}
}

// final returns the step for a command that did not run in its last try and is not sent
// again: in an earlier try it may have run.
func (a *attempt) final() step {
	if a.doubt != nil {
		return ran
	}
	return stands
}

// outcome returns what became of the command, whose last try ended with the reply or the
// error: an error with the outcome unknown if the last try proves nothing of an earlier one.
func (a *attempt) outcome(reply []byte, err error) ([]byte, error) {
	switch {
	case a.doubt == nil, err == nil && endsDoubt(reply), errors.Is(err, redislanes.ErrUnknownOutcome):
		return reply, err
	case err == nil:
		err = saidError(reply)
	}
	return nil, unknownAfter(a.doubt, err)
}

// endsDoubt tells whether the reply to a command that was sent again is its outcome. An error
// that is not known to be about the command may come from a server that did not look at it.
// One that stands for a reply beyond the limits will do: the reply came.
func endsDoubt(reply []byte) bool {
	if !resp.IsError(reply) {
		return true
	}
	text := resp.ErrorText(reply)
	return fate.Of(text).AboutCommand() || resp.IsRefusal(text)
}

// unknownAfter returns the error of a command that may have run in the try that ended with first,
// and was sent again in vain.
func unknownAfter(first, again error) error {
	e := &redislanes.OutcomeError{Outcome: redislanes.ErrUnknownOutcome}
	var lost *redislanes.OutcomeError
	if errors.As(first, &lost) {
		e.Addr, first = lost.Addr, lost.Cause
	}
	e.Cause = &repeated{first, again, e.Addr}
	return e
}

// repeated is why the outcome of a command is unknown although it was sent again. Of the
// repeat, only the end of the context is found by errors.Is: everything else is about the
// repeat alone, such as ErrNotSent, ErrRefused, ErrDown and the server's error.
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

// errEarly is the doubt about a command that has run, and is repeated with the one on its key.
var errEarly = errors.New("it ran before the command on its key did")
