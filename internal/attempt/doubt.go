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

// A Doubt is how the first try of a command ended in which it may have run. The zero value
// is no doubt. From then on only a reply about the command says what became of it. A command
// that only reads leaves no doubt.
type Doubt struct{ first error }

// ErrEarly is the doubt about a command that ran before the one on its key did, and is
// sent again with it.
var ErrEarly = errors.New("it ran before the command on its key did")

// Note notes that the command may have run in the try that ended with the error.
func (d *Doubt) Note(err error) {
	if d.first == nil {
		d.first = err
	}
}

// Any tells whether there is a doubt.
func (d *Doubt) Any() bool { return d.first != nil }

// Final returns the step of a command that did not run in its last try and is not sent
// again: in an earlier try it may have run.
func (d *Doubt) Final() Step {
	if d.first != nil {
		return Ran
	}
	return Stands
}

// Settled tells whether the end of the last try says what became of the command: a reply,
// or why there is none.
func (d *Doubt) Settled(reply []byte, err error) bool {
	return d.first == nil || err == nil && settles(reply) || errors.Is(err, redislanes.ErrUnknownOutcome)
}

// settles tells whether the reply to a command that was sent again is its outcome. An error
// that is not known to be about the command may come from a server that did not look at it.
// One that stands for a reply beyond the limits will do: the reply came.
func settles(reply []byte) bool {
	if !resp.IsError(reply) {
		return true
	}
	text := resp.ErrorText(reply)
	return fate.Of(text).AboutCommand() || resp.IsRefusal(text)
}

// Unknown returns the error of a command about which there is a doubt, and which was sent
// again in vain.
func (d *Doubt) Unknown(again error) error {
	e := &redislanes.Error{Outcome: redislanes.ErrUnknownOutcome}
	first := d.first
	var lost *redislanes.Error
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
