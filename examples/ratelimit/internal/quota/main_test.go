package quota_test

import (
	"testing"

	"github.com/redislanes/redislanes/internal/servers"
)

func TestMain(m *testing.M) { servers.VerifyNoLeaks(m) }
