package limit

import (
	"errors"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
)

// didNotRun reports whether the error proves that the command did not run: it was not sent, or the server
// has replied with an error such as NOPERM. A reply that cannot be read proves nothing.
func didNotRun(err error) bool {
	switch {
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		return false
	case errors.Is(err, redislanes.ErrNotSent), errors.Is(err, redislanes.ErrRefused):
		return true
	}
	said, ok := saidBy(err)
	return ok && !said.MayHaveRun()
}

// saidBy judges the error that the server replied with, if it did.
func saidBy(err error) (f fate.Fate, ok bool) {
	var said resp3.SimpleError
	ok = errors.As(err, &said)
	return fate.Of([]byte(said.S)), ok
}
