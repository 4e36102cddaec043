//go:build linux

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

// A running is the command in a process of its own.
type running struct {
	cmd         *exec.Cmd
	out, errors *bufio.Scanner
	mark        string // in the environment of it and of all that it starts
}

func launched(t *testing.T, args ...string) *running {
	t.Helper()
	c := &running{cmd: exec.CommandContext(servers.Within(t, time.Minute), os.Args[0], args...)}
	c.mark = "REDISLANES_COMPARE_MARK=" + t.TempDir()
	c.cmd.Env = append(os.Environ(), commandEnv+"=1", "REDIS_ADDRS=", c.mark)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	progress, err := c.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	c.out, c.errors = bufio.NewScanner(out), bufio.NewScanner(progress)
	return c
}

// until reads lines up to one that holds the text.
func until(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	require.Failf(t, "the command ended", "before it said %q", text)
}

// left returns the processes that have the child's mark.
func (c *running) left(t *testing.T) (all []string) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, name := range environs {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(c.mark)) {
			all = append(all, name)
		}
	}
	return all
}

// TestInterrupt sends a real signal while the second turn is measured, with servers and a network
// running: the first turn's results come out, and nothing is left behind.
func TestInterrupt(t *testing.T) {
	servers.RequireServer(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			file := write(t, `
scenario: variable_key
warm_up: 0
rounds: 1
primaries: 1
endpoints:
  - {name: first, round_trip: 1ms, duration: 500ms}
  - {name: second, steps: [{callers: 2, for: 1h}, {callers: 2, for: 1h}]}
  - {name: third}
`)
			out := filepath.Join(t.TempDir(), "out.jsonl")
			c := launched(t, "-f", file, "-raw", out)
			until(t, c.errors, ": second")
			require.NotEmpty(t, c.left(t))
			require.NoError(t, c.cmd.Process.Signal(sig))
			until(t, c.out, "| first ")
			until(t, c.out, "interrupted: ")
			for c.out.Scan() || c.errors.Scan() {
				continue
			}
			var exit *exec.ExitError
			require.ErrorAs(t, c.cmd.Wait(), &exit)
			require.Equal(t, interrupted, exit.ExitCode())
			require.Empty(t, c.left(t))

			r, err := readRaw(out)
			require.NoError(t, err)
			require.True(t, r.Interrupted)
			require.Equal(t, "first", r.Runs[0].Endpoints[0].Name)
			require.Positive(t, r.Runs[0].Endpoints[0].Phases[0].Requests)
			require.False(t, r.Runs[0].Endpoints[0].Phases[0].PerRound[0].Partial)
			require.Len(t, r.Runs[0].Endpoints[1].Phases, 1)
			require.True(t, r.Runs[0].Endpoints[1].Phases[0].Partial)
			require.Empty(t, r.Runs[0].Endpoints[1].Phases[0].Errors)
		})
	}
}
