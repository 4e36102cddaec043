package servers

import (
	"context"
	"testing"
	"time"
)

// Within returns a context that ends after d, or with the test: the end of the
// test's patience with something that should happen, not a time to wait for.
func Within(tb testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(tb.Context(), d)
	tb.Cleanup(cancel)
	return ctx
}
