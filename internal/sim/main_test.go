package sim

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(800) // histories are short-lived and large
	goleak.VerifyTestMain(m)
}
