package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

// ErrClosed is the cause when a lane was closed on this side. It wraps
// [redislanes.ErrNotSent], since nothing can be sent over a closed lane.
var ErrClosed = fmt.Errorf("lane closed: %w", redislanes.ErrNotSent)

// NotSent returns err as the cause of a command's not being sent to addr. An
// error that says so already is returned as it is.
func NotSent(addr string, err error) error {
	var known *redislanes.Error
	if errors.As(err, &known) && errors.Is(known.Outcome, redislanes.ErrNotSent) {
		return err
	}
	return &redislanes.Error{Addr: addr, Outcome: redislanes.ErrNotSent, Cause: err}
}

// Unknown returns err as the cause of a command's unknown outcome.
func Unknown(addr string, err error) *redislanes.Error {
	return &redislanes.Error{Addr: addr, Outcome: redislanes.ErrUnknownOutcome, Cause: err}
}

// Named returns err as the error of the command with that name on that node. It is a copy of
// its own.
func Named(command, addr string, err error) *redislanes.Error {
	switch known := err.(type) { //nolint:errorlint // what wraps one has a text of its own
	case *redislanes.Error:
		named := *known
		if named.Command = command; addr != "" && named.Addr != addr {
			if named.Addr != "" {
				named.Cause = fmt.Errorf("%s: %w", named.Addr, named.Cause)
			}
			named.Addr = addr
		}
		return &named
	}
	return &redislanes.Error{Command: command, Addr: addr, Outcome: outcomeOf(err), Cause: err}
}

// Top returns the redislanes.Error that err is; nil if it is none or wraps one with a text
// of its own.
func Top(err error) *redislanes.Error {
	known, _ := err.(*redislanes.Error) //nolint:errorlint // as Named
	return known
}

func outcomeOf(err error) error {
	for _, outcome := range []error{redislanes.ErrUnknownOutcome, redislanes.ErrNotSent, redislanes.ErrRefused} {
		if errors.Is(err, outcome) {
			return outcome
		}
	}
	return nil
}

// NameCommand adds the command's name and the server's address to an error that says what
// became of a command, unless they are there. Any other error stays as it is.
func NameCommand(err error, encoded []byte, addr string) error {
	var known *redislanes.Error
	_, said := cause.SaidIn(err)
	var undecoded *redislanes.DecodeError
	if errors.As(err, &known) && addr == "" {
		addr = known.Addr
	}
	switch {
	case err == nil, known != nil && known.Command != "":
		return err
	case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrUnknownOutcome), said, errors.As(err, &undecoded):
		return Named(strings.ToUpper(resp.CommandName(encoded)), addr, err)
	}
	return err
}

// ReplyError returns the error of a server's error reply. It wraps [redislanes.ErrRefused] if the
// server did not run the command.
func ReplyError(reply []byte) error {
	text := resp.ErrorText(reply)
	said := cause.Said(text)
	if fate.Of(text).Refused() {
		return refusal{said}
	}
	return said
}

// IsRefusal reports whether the server says that it did not run a command, and that it, or another
// one, might.
func IsRefusal(reply []byte) bool {
	return resp.IsError(reply) && fate.Of(resp.ErrorText(reply)).Refused()
}

// A refusal is a server's error reply that wraps ErrRefused.
type refusal struct{ *cause.SaidError }

func (r refusal) Unwrap() []error { return []error{r.SaidError, redislanes.ErrRefused} }
