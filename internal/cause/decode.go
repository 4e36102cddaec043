package cause

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes"
)

// A DecodeError is a [redislanes.ErrDecode]. It does not print its cause, which may show the reply, and a
// command with its arguments.
type DecodeError struct {
	Into  string // the type of the receiver, such as *int
	Kind  byte   // the type byte of the reply; 0 if it is not known
	Index int    // the index of the reply if there are several
	Cause error  `json:"-"` // may show the reply
}

func (e *DecodeError) Error() string {
	what, why := "", ""
	if name := kinds[e.Kind]; name != "" {
		what = ", " + name + ","
	}
	switch {
	case errors.Is(e.Cause, strconv.ErrRange):
		why = ": the number is out of range"
	case number.MatchString(e.Into) && strings.IndexByte("+$=", e.Kind) >= 0:
		why = ": the text is no such number"
	}
	return fmt.Sprintf("redislanes: the reply%s cannot be decoded into %s%s", what, e.Into, why)
}

// number is the types of numbers, and pointers to them.
var number = regexp.MustCompile(`^\**(int|uint|float)\d*$`)

var kinds = map[byte]string{
	'+': "a string", '$': "a string", '=': "a string", ':': "an integer", ',': "a number", '(': "a big number",
	'#': "a boolean", '_': "null", '*': "an array", '%': "a map", '~': "a set", '>': "a push message",
}

// Unwrap returns ErrDecode and the cause.
func (e *DecodeError) Unwrap() []error { return []error{redislanes.ErrDecode, e.Cause} }

// Format prints Error for every verb: fmt would print the fields for %#v.
func (e *DecodeError) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.Error()) }
