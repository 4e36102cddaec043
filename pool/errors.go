package pool

import "github.com/redislanes/redislanes"

// The errors of package redislanes, which has all of them, that full and closed
// pools give.
var (
	ErrExhausted = redislanes.ErrExhausted
	ErrClosed    = redislanes.ErrClosed
)
