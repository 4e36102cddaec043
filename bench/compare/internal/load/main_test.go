package load

import (
	"testing"

	"github.com/redislanes/redislanes/internal/servers"

	"github.com/redislanes/redislanes/bench/internal/child"
)

func TestMain(m *testing.M) {
	child.Main()
	servers.VerifyNoLeaks(m)
}
