package redislanes

import (
	"errors"
	"fmt"
	"io"
)

// A DecodeError says that a reply does not fit what it is to be decoded into.
// It does not print its cause, since radix's texts show the reply and, in a
// radix.Pipeline, the command; errors.Is and errors.As look into it.
type DecodeError struct {
	Into  string // the type of the receiver, such as *int
	Kind  byte   // the type byte of the reply; 0 if it is not known
	Index int    // which of several replies it was; the first is 0
	Cause error  `json:"-"` // its text may show the reply, and a command with its arguments
}

func (e *DecodeError) Error() string {
	what := ""
	if name := kinds[e.Kind]; name != "" {
		what = ", " + name + ","
	}
	return fmt.Sprintf(prefix+"the reply%s cannot be decoded into %s", what, e.Into)
}

var kinds = map[byte]string{
	'+': "a string", '$': "a string", '=': "a string", ':': "an integer", ',': "a number", '(': "a big number",
	'#': "a boolean", '_': "null", '*': "an array", '%': "a map", '~': "a set", '>': "a push message",
}

// Is is part of errors.Is.
func (e *DecodeError) Is(target error) bool { return errors.Is(e.Cause, target) }

// As is part of errors.As.
func (e *DecodeError) As(target any) bool { return errors.As(e.Cause, target) }

// Format prints Error for every verb: fmt would print the fields for %#v.
func (e *DecodeError) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.Error()) }
