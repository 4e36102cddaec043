package redislanes

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotSent marks commands of which the server has certainly not seen a
	// complete copy, so that they were not executed. Sending them again is
	// safe.
	ErrNotSent = errors.New("not sent")

	// ErrUnknownOutcome marks commands that were handed to the socket and got
	// no reply: they may have been executed or not. Connections and pools never
	// send them again; package cluster does so only with commands that just read
	// or were marked as idempotent. Over cluster.Config.Standalone it also marks commands
	// that got an error which no Redis or Valkey server sends, as proxies make them up;
	// errors.As finds that as a resp3.SimpleError.
	//
	// A command that may write keeps its unknown outcome when it is sent again, until it
	// has a reply that is no error, or an error about the command itself, such as
	// WRONGTYPE. If the repeat is not sent or refused, the error says so in its text, but
	// errors.Is finds neither ErrNotSent nor [ErrRefused], and errors.As no error of the
	// server.
	ErrUnknownOutcome = errors.New("outcome unknown")
)

// An OutcomeError says why a command has no reply, and what that means for it.
// Both Outcome and Cause are found by errors.Is and errors.As. What the cause
// says of outcomes does not count: a closed connection wraps [ErrNotSent], but
// commands that were sent over it have an unknown outcome.
type OutcomeError struct {
	Addr    string // the server, host:port; empty if none was chosen
	Outcome error  // ErrNotSent or ErrUnknownOutcome
	Cause   error  // what happened, such as an I/O error or the context's
}

func (e *OutcomeError) Error() string {
	why := strings.TrimSuffix(text(e.Cause, e.Addr), ": "+ErrNotSent.Error()) // Outcome is what counts
	if e.Addr == "" {
		return fmt.Sprintf(prefix+"%v: %s", e.Outcome, why)
	}
	return fmt.Sprintf(prefix+"%s: %v: %s", e.Addr, e.Outcome, why)
}

// Unwrap returns the outcome and the cause.
func (e *OutcomeError) Unwrap() []error { return []error{e.Outcome, cause{e.Cause}} }

// A cause is an error but for the outcomes in it: by one that wraps ErrNotSent, an
// INCRBY of which the outcome is unknown would be sent again.
type cause struct{ error }

func (c cause) Is(target error) bool {
	return target != ErrNotSent && target != ErrUnknownOutcome && errors.Is(c.error, target)
}

func (c cause) As(target any) bool { return errors.As(c.error, target) }
