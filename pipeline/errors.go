package pipeline

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// ErrExecuted says that a pipeline was done before, and not Reset since. A
// second Do would count twice: it sends nothing, and the replies of the first one
// stay. A command that is appended in between is refused with this error, which
// then comes with lanes.ErrNotSent.
var ErrExecuted = errors.New("pipeline: it was done already, call Reset before it is used again")

// ErrExpiry is the error of a hit that was counted, and whose Total is set: only
// its EXPIRE failed, so that the key may have no time to live yet. The next hit
// on it that has a TTL sets it, or the Counters do, which go on trying unless the
// server refused it for good, or too many keys wait for theirs already, as the text
// then says. To hit again because of this error would count
// twice. The text has the cause, which errors.Is does not find: what it says of
// outcomes, such as lanes.ErrNotSent, is not about the hit.
var ErrExpiry = errors.New("counted, but the time to live is not set yet")

// An expiryError is an ErrExpiry with its cause.
type expiryError struct{ cause error }

func (e *expiryError) Error() string { return fmt.Sprintf("pipeline: %v: %v", ErrExpiry, e.cause) }

// Is is part of errors.Is.
func (e *expiryError) Is(target error) bool { return target == ErrExpiry }

// As is part of errors.As.
func (e *expiryError) As(target any) bool { return errors.As(e.cause, target) }

// What is asked of a pipeline or of Counters by mistake.
var (
	errLate       = fmt.Errorf("command appended after Do: %w: %w", ErrExecuted, lanes.ErrNotSent)
	errNoClient   = fmt.Errorf("made without a client, use New with the client that cluster.Config.New returned: %w", lanes.ErrNotSent)
	errNilAction  = fmt.Errorf("the action is nil: %w", lanes.ErrNotSent)
	errNilContext = fmt.Errorf("the context is nil, use context.Background for none: %w", lanes.ErrNotSent)
)

// An Error says that commands of a pipeline failed. The replies have the error
// of each.
type Error struct {
	Failed, Total int   // commands
	First         error // of the first command that failed
}

func (e *Error) Error() string {
	return fmt.Sprintf("pipeline: %d of %d commands failed, the first: %v", e.Failed, e.Total, e.First)
}

// Unwrap returns First.
func (e *Error) Unwrap() error { return e.First }

func (r refusal) error() error { return &cluster.CommandError{Command: r.name, Err: r.err} }
