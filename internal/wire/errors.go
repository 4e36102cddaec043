package wire

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes"
)

// ErrClosed is the cause when a lane was closed on this side. It wraps
// [redislanes.ErrNotSent], since nothing can be sent over a closed lane.
var ErrClosed = fmt.Errorf("lane closed: %w", redislanes.ErrNotSent)

// NotSent returns err as the cause of a command's not being sent to addr. An
// error that says so already is returned as it is.
func NotSent(addr string, err error) error {
	var known *redislanes.OutcomeError
	if errors.As(err, &known) && errors.Is(known.Outcome, redislanes.ErrNotSent) {
		return err
	}
	return &redislanes.OutcomeError{Addr: addr, Outcome: redislanes.ErrNotSent, Cause: err}
}
