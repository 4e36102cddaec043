//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
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
	raw, plot := filepath.Join(folder, "out.jsonl"), filepath.Join(folder, "out.svg")
	service, enough := fake.New(100, 0), make(chan struct{})
	service.Each = func(n int) {
		if n == 100 {
			close(enough)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-target", fake.Serve(t, service), "-from", "100",
		"-for", "1h", "-warmup", "0", "-timeout", "20s", "-raw", raw, "-plot", plot)
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	var out bytes.Buffer
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	<-enough
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, interrupted, exit.ExitCode())
	require.Contains(t, out.String(), "interrupted: the table has what was measured until then")

	_, err := report.Read(raw)
	require.ErrorContains(t, err, "the measurement did not end")
	text, err := os.ReadFile(raw)
	require.NoError(t, err)
	var l report.Line
	require.NoError(t, json.Unmarshal(bytes.Split(text, []byte("\n"))[1], &l)) // behind the start
	require.Equal(t, verdict.Interrupted, l.Step.Verdict)
	require.Positive(t, l.Step.Successes)
	require.GreaterOrEqual(t, l.Step.Took, time.Second/2)
	require.FileExists(t, plot)
}
