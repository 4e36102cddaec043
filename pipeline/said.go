package pipeline

import (
	"errors"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
)

// overflows reports whether the server refused INCRBY because the sum would not
// fit, so that it has not run.
func overflows(err error) bool {
	f, said := fateOf(err)
	return said && f == fate.Overflow
}

// mayHaveRun reports whether a command with that error may have run: one that the server
// refused has not, but one has of which it could not be read what the server said.
func mayHaveRun(err error) bool {
	if err == nil || errors.Is(err, redislanes.ErrUnknownOutcome) {
		return true
	}
	if f, said := fateOf(err); said {
		return f.MayHaveRun()
	}
	return !errors.Is(err, redislanes.ErrNotSent)
}

// fateOf judges the error that the server replied with, if it did.
func fateOf(err error) (f fate.Fate, said bool) {
	if err == nil {
		return 0, false // without the allocation for simple
	}
	var simple resp3.SimpleError
	if !errors.As(err, &simple) {
		return 0, false
	}
	return fate.Of([]byte(simple.S)), true
}
