package servers

import (
	"fmt"
	"io"
	"os/exec"
)

// A watchdog is a process that outlives this one by a moment: when the pipe
// from this process is closed, by whatever death, it kills the servers and
// removes their folder.
type watchdog struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// The shell keeps a list of pids, from lines with "pid" and "-pid", until the
// pipe's end or "quit". Closed without "quit", it kills them, stopped ones too.
const watchdogScript = `
pids=
while read -r line; do
	case $line in
	quit) exit 0 ;;
	-*)
		left=
		for pid in $pids; do [ "-$pid" = "$line" ] || left="$left $pid"; done
		pids=$left ;;
	*) pids="$pids $line" ;;
	esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
rm -rf "$1"`

func startWatchdog(dir string) (*watchdog, error) {
	cmd := exec.Command("sh", "-c", watchdogScript, "redistest-watchdog", dir)
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("servers: watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("servers: watchdog: %w", err)
	}
	return &watchdog{cmd, in}, nil
}

// watch tells the watchdog of a server. A failure means that the watchdog is
// gone, and with it only the cleaning up after a crash.
func (w *watchdog) watch(pid int) { _, _ = fmt.Fprintln(w.in, pid) }

// forget tells the watchdog that the server has ended: its pid may be given to
// another process.
func (w *watchdog) forget(pid int) { _, _ = fmt.Fprintln(w.in, -pid) }

// quit ends the watchdog without harm.
func (w *watchdog) quit() {
	_, _ = fmt.Fprintln(w.in, "quit")
	_ = w.in.Close()
	_ = w.cmd.Wait()
}
