// Package cause has the causes in a redislanes.Error that programs print and do not act on.
// The packages of the library, and its tests, tell them apart with errors.Is and errors.As.
package cause

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
)

// maxSaid is how much of an error's text is kept: the server says how long it is.
const maxSaid = 64 << 10

// A SaidError is an error of the server. What it prints holds no argument
// ([fate.Printed]); errors.As finds a resp3.SimpleError with the text as it was sent,
// for programs that parse the errors of their own scripts. It does not unwrap to that
// one, since loggers print what errors unwrap to.
type SaidError struct{ text string }

// Said returns the error for a text of the server.
func Said[T string | []byte](text T) *SaidError {
	return &SaidError{strings.Clone(string(text[:min(len(text), maxSaid)]))}
}

// SaidIn returns the text of the server's error that err is about; ok is false if it is about none.
func SaidIn(err error) (text string, ok bool) {
	var said *SaidError
	if !errors.As(err, &said) {
		return "", false
	}
	return said.text, true
}

// FateOf judges the server's error that err is about; ok is false if it is about none.
func FateOf(err error) (f fate.Fate, ok bool) {
	if err == nil {
		return f, false // without an allocation
	}
	var said resp3.SimpleError
	ok = errors.As(err, &said)
	return fate.Of([]byte(said.S)), ok
}

// MayHaveRun reports whether a command with that error may have run. It has not if it was not sent, or if the server
// refused it. It may have if its reply cannot be read.
func MayHaveRun(err error) bool {
	if err == nil || errors.Is(err, redislanes.ErrUnknownOutcome) {
		return true
	}
	if f, said := FateOf(err); said {
		return f.MayHaveRun()
	}
	return !errors.Is(err, redislanes.ErrNotSent)
}

func (e *SaidError) Error() string { return fate.Printed(e.text) }

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
