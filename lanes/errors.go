package lanes

import (
	"errors"
	"fmt"
)

var (
	// ErrNotSent marks commands of which the server has certainly not seen a
	// complete copy, so that they were not executed. Sending them again is
	// safe.
	ErrNotSent = errors.New("not sent")

	// ErrUnknownOutcome marks commands that were handed to the socket and got
	// no reply: they may have been executed or not. Lanes and pools never send
	// them again; package cluster does so only with commands that just read or
	// were marked as idempotent.
	ErrUnknownOutcome = errors.New("outcome unknown")

	// ErrClosed is the cause when a lane was closed on this side. It wraps
	// [ErrNotSent], since nothing can be sent over a closed lane.
	ErrClosed = fmt.Errorf("lane closed: %w", ErrNotSent)

	// ErrStalled is the cause when a lane was closed because the server sent
	// nothing for longer than the stall timeout.
	ErrStalled = errors.New("server stalled: no byte arrived for longer than the stall timeout")

	// ErrShared refuses commands that change the state of their connection
	// (MULTI, WATCH, SELECT, SUBSCRIBE, ...) on a lane that others share. Use
	// radix.WithConn, which lends a lane. It wraps [ErrNotSent].
	ErrShared = fmt.Errorf("command changes the state of its connection, use radix.WithConn to be lent one: %w", ErrNotSent)
)

// An OutcomeError says why a command has no reply, and what that means for it.
// Both Outcome and Cause are found by errors.Is and errors.As. What the cause
// says of outcomes does not count: a lane that is closed wraps [ErrNotSent], but
// commands that it had sent have an unknown outcome.
type OutcomeError struct {
	Addr    string // the server, host:port; empty if none was chosen
	Outcome error  // ErrNotSent or ErrUnknownOutcome
	Cause   error  // what happened, such as an I/O error or the context's
}

func (e *OutcomeError) Error() string {
	if e.Addr == "" {
		return fmt.Sprintf("lanes: %v: %v", e.Outcome, e.Cause)
	}
	return fmt.Sprintf("lanes: %s: %v: %v", e.Addr, e.Outcome, e.Cause)
}

// Unwrap returns the outcome and the cause.
func (e *OutcomeError) Unwrap() []error { return []error{e.Outcome, cause{e.Cause}} }

// A cause is an error but for the outcomes in it.
type cause struct{ error }

func (c cause) Is(target error) bool {
	return target != ErrNotSent && target != ErrUnknownOutcome && errors.Is(c.error, target)
}

func (c cause) As(target any) bool { return errors.As(c.error, target) }

// NotSent returns err as the cause of a command's not being sent to addr. An
// error that says so already is returned as it is.
func NotSent(addr string, err error) error {
	var known *OutcomeError
	if errors.As(err, &known) && errors.Is(known.Outcome, ErrNotSent) {
		return err
	}
	return &OutcomeError{Addr: addr, Outcome: ErrNotSent, Cause: err}
}
