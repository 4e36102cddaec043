package redistest

import (
	"testing"

	"go.uber.org/goleak"
)

// VerifyNoLeaks runs the tests of a package and fails if goroutines are left.
// Call it in TestMain; it does not return.
func VerifyNoLeaks(m *testing.M) { goleak.VerifyTestMain(m) }
