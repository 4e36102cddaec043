package limit

import (
	"errors"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
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
	said, ok := cause.FateOf(err)
	return ok && !said.MayHaveRun()
}
