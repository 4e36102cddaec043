package sim

import (
	"testing"

	"github.com/redislanes/redislanes/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
