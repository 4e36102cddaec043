//go:build unix

package servers

import (
	"os"
	"os/exec"
	"syscall"
)

var pauseSignal, resumeSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT

// ownGroup puts the process into a group of its own: Ctrl-C at a terminal must
// not end it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
