package pipeline

import (
	"fmt"

	"github.com/redislanes/redislanes/cluster"
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
