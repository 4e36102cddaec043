package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
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
	case radixresp.ErrConnUsable:
		named := Named(command, addr, known.Err)
		named.Cause = radixresp.ErrConnUsable{Err: named.Cause}
		return named
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
	if usable, ok := err.(radixresp.ErrConnUsable); ok { //nolint:errorlint // as Named
		err = usable.Err
	}
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

// A SaidError is an error of the server. What it prints holds no argument
// ([resp.Redact]); errors.As finds a resp3.SimpleError with the text as it was sent,
// for programs that parse the errors of their own scripts. It does not unwrap to that
// one, since loggers print what errors unwrap to.
type SaidError struct{ text string }

// Said returns the error for a text of the server.
func Said[T string | []byte](text T) *SaidError {
	return &SaidError{strings.Clone(string(text[:min(len(text), maxSaid)]))}
}

func (e *SaidError) Error() string { return resp.Redact(e.text) }

// Is is part of errors.Is.
func (e *SaidError) Is(target error) bool {
	said, ok := target.(resp3.SimpleError)
	return ok && said.S == e.text
}

// As is part of errors.As.
func (e *SaidError) As(target any) bool {
	said, ok := target.(*resp3.SimpleError)
	if ok {
		said.S = e.text
	}
	return ok
}

// Format prints Error for every verb: fmt would print the text for %#v.
func (e *SaidError) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.Error()) }

// AfterContext returns an error of a radix action: if the context's end is its cause,
// it says, as radix does, that the connection can still be used.
func AfterContext(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return radixresp.ErrConnUsable{Err: err}
	}
	return err
}

// NameCommand adds the command's name and the server's address to an error that says what
// became of a command, unless they are there. Any other error stays as it is.
func NameCommand(err error, encoded []byte, addr string) error {
	var known *redislanes.Error
	var said resp3.SimpleError
	var undecoded *redislanes.DecodeError
	if errors.As(err, &known) && addr == "" {
		addr = known.Addr
	}
	switch {
	case err == nil, known != nil && known.Command != "":
		return err
	case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrUnknownOutcome), errors.As(err, &said), errors.As(err, &undecoded):
		return Named(strings.ToUpper(resp.CommandName(encoded)), addr, err)
	}
	return err
}

// UnmarshalNamed is [Unmarshal] with the replies of a server to a request. Its error names
// the command whose reply could not be decoded, or is the first error, also where a
// radix.Pipeline keeps that to itself.
func UnmarshalNamed(request, replies []byte, into any, addr string) error {
	i, _, err := unmarshal(replies, into)
	if err == nil {
		return nil // no command is looked for
	}
	var command []byte
	_, _ = Commands(request, func(from, to int) {
		if i--; i == -1 {
			command = request[from:to]
		}
	})
	return NameCommand(err, command, addr)
}
