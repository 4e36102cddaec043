package lanes

import "github.com/redislanes/redislanes"

// The outcomes of package redislanes, which has all errors.
var (
	ErrNotSent        = redislanes.ErrNotSent
	ErrUnknownOutcome = redislanes.ErrUnknownOutcome
)
