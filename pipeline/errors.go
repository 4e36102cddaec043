package pipeline

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes"
)

// An expiryError is an ErrExpiry with its cause, of which the outcome is not shown:
// after ErrNotSent, callers would count a hit again that was counted.
type expiryError struct{ cause error }

func (e *expiryError) Error() string {
	return fmt.Sprintf("%v: %v", redislanes.ErrExpiry, e.cause)
}

// Is is part of errors.Is.
func (e *expiryError) Is(target error) bool { return target == redislanes.ErrExpiry }

// As is part of errors.As.
func (e *expiryError) As(target any) bool { return errors.As(e.cause, target) }

// What is asked of a pipeline or of Counters by mistake.
var (
	errClosed     = fmt.Errorf("the Counters are %w", redislanes.ErrClosed)
	errNoClient   = fmt.Errorf("made without a client, use New with the client that cluster.Config.New returned: %w", redislanes.ErrNotSent)
	errNilAction  = fmt.Errorf("the action is nil: %w", redislanes.ErrNotSent)
	errNilContext = fmt.Errorf("the context is nil, use context.Background for none: %w", redislanes.ErrNotSent)
)
