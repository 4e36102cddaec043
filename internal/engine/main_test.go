package engine

import (
	"testing"

	"github.com/redislanes/redislanes/internal/redistest"
)

func TestMain(m *testing.M) { redistest.VerifyNoLeaks(m) }
