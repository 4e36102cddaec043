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
	// A sync.Pool keeps the world that it is in until the second collection, and with it
	// the next collection becomes rarer: 3,000 seeds took 24 GiB.
	debug.SetMemoryLimit(2 << 30)
	leak.Main(m)
}
