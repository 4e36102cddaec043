package sim

import (
	"flag"
	"runtime/debug"
	"testing"

	"github.com/redislanes/redislanes/internal/leak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(800) // histories are short-lived and large
	leak.Main(m)
}
