package redislanes

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes/internal/resp"
)

var (
	// ErrPending is the error of a reply before Do has returned.
	ErrPending = errors.New("no reply yet: call Do first")

	// ErrStale is the error of a reply whose pipeline was reset.
	ErrStale = errors.New("the pipeline was reset since this reply was given")

	// ErrNull is wrapped by the error when Redis replied null, as GET does for
	// a key that does not exist, where a value was asked for.
	ErrNull = resp.ErrNull
)

// ErrExecuted says that a pipeline was done before, and not Reset since. A
// second Do would count twice: it sends nothing, and the replies of the first one
// stay. A command that is appended in between is refused with this error, which
// then comes with ErrNotSent.
var ErrExecuted = errors.New("the pipeline was done already, call Reset before it is used again")

// A PipelineError says that commands of a pipeline failed. The replies have the error
// of each.
type PipelineError struct {
	Failed, Total int   // commands
	First         error // of the first command that failed
}

func (e *PipelineError) Error() string {
	return fmt.Sprintf(prefix+"%d of %d commands failed, the first: %s", e.Failed, e.Total, text(e.First, ""))
}

// Unwrap returns First.
func (e *PipelineError) Unwrap() error { return e.First }
