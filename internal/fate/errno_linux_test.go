package fate

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestErrnosAreUnlisted: twemproxy replies with "ERR " and what strerror says. Servers
// say "Invalid slot", and begin with "Function", too, which no socket says.
func TestErrnosAreUnlisted(t *testing.T) {
	t.Parallel()
	for n := syscall.Errno(1); n < 134; n++ {
		text := n.Error()
		if n == syscall.EBADSLT || n == syscall.ENOSYS {
			continue
		}
		for _, s := range []string{text, strings.ToUpper(text[:1]) + text[1:]} {
			assert.Equal(t, Unlisted, Of([]byte("ERR "+s)), s)
		}
	}
}
