//go:build !unix

package servers

import (
	"os"
	"os/exec"
)

// Without these signals, Pause and Resume are errors of the system's. There is
// no redis-server for such systems anyway; emulated clusters work.
var pauseSignal, resumeSignal os.Signal = os.Interrupt, os.Interrupt

func ownGroup(*exec.Cmd) {}
