package servers

import (
	"testing"

	"github.com/redislanes/redislanes/internal/leak"
)

// VerifyNoLeaks runs the tests of a package and fails if goroutines are left.
// Call it in TestMain; it does not return.
func VerifyNoLeaks(m *testing.M) { leak.Main(m) }
