//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/fake"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/report"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// TestInterrupt sends a real signal while a step is measured: what was measured
// until then is in the report.
func TestInterrupt(t *testing.T) {
	folder := t.TempDir()
	data, page := filepath.Join(folder, "out.json"), filepath.Join(folder, "out.html")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-target", fake.Serve(t, fake.New(100, 0)), "-from", "100",
		"-for", "1h", "-warmup", "0", "-timeout", "20s", "-json", data, "-report", page)
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	var out bytes.Buffer
	cmd.Stdout = &out
	progress, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(progress)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "step 1: 100/s, ") {
		continue
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	for lines.Scan() {
		continue
	}
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, interrupted, exit.ExitCode())
	require.Contains(t, out.String(), "interrupted: the table has what was measured until then")

	text, err := os.ReadFile(data)
	require.NoError(t, err)
	var r report.Report
	require.NoError(t, json.Unmarshal(text, &r))
	require.True(t, r.Interrupted)
	require.Len(t, r.Steps, 1)
	require.Equal(t, verdict.Interrupted, r.Steps[0].Verdict)
	require.Positive(t, r.Steps[0].Successes)
	require.GreaterOrEqual(t, r.Steps[0].Took, time.Second/2)
	require.Zero(t, r.Summary)
	text, err = os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "Interrupted: this is what was measured until then.")
	require.True(t, strings.HasSuffix(string(text), "</html>\n"))
}
