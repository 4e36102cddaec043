package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
)

// An expiryError says that a hit was counted and its key may have no time to live. The
// outcome of the cause is not shown: after ErrNotSent, callers would count the hit again.
type expiryError struct{ cause error }

func (e *expiryError) Error() string {
	rights := ""
	if f, said := fateOf(e.cause); said && f == fate.NoPermission {
		rights = " (the user needs the right to send SET, INCRBY, PTTL and EXPIRE, and PEXPIRE for parts of seconds)"
	}
	return fmt.Sprintf("counted, but the time to live may not be set%s: %v", rights, e.cause)
}

// Is is part of errors.Is. Of the cause, it finds the end of the context.
func (e *expiryError) Is(target error) bool {
	return (target == context.DeadlineExceeded || target == context.Canceled) && errors.Is(e.cause, target)
}

// As is part of errors.As.
func (e *expiryError) As(target any) bool { return errors.As(e.cause, target) }

var (
	// errClosed is why Counters refuse hits after Close.
	errClosed = fmt.Errorf("the Counters are %w", redislanes.ErrClosed)

	errPanic = errors.New("a panic while it was sent")
)

// unitless returns why a time to live is none: nobody means a few nanoseconds.
func unitless(ttl time.Duration) error {
	if ttl <= 0 || ttl >= time.Microsecond {
		return nil
	}
	return fmt.Errorf("time to live of %v: a number without a unit counts nanoseconds: %w", ttl, redislanes.ErrNotSent)
}
