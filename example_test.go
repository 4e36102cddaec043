package redislanes_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redislanes/redislanes"
)

// An error says whether it is safe to send the command again.
func ExampleError() {
	var err error = &redislanes.Error{Addr: "redis-1:6379", Outcome: redislanes.ErrNotSent, Cause: context.DeadlineExceeded}
	switch {
	case errors.Is(err, redislanes.ErrNotSent):
		fmt.Println("not executed, send again:", err)
	case errors.Is(err, redislanes.ErrUnknownOutcome):
		fmt.Println("perhaps executed:", err)
	}
	// Output: not executed, send again: redislanes: redis-1:6379: not sent: context deadline exceeded
}
