package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	radixresp "github.com/mediocregopher/radix/v4/resp"
	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/resp"
)

// A SaidError is an error of the server. What it prints holds no argument
// ([resp.Redact]); errors.As finds a resp3.SimpleError with the text as it was sent,
// for programs that parse the errors of their own scripts. It does not unwrap to that
// one, since loggers print what errors unwrap to.
type SaidError struct{ text string }

// maxSaid is how much of a text is kept: the server says how long it is.
const maxSaid = 64 << 10

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
