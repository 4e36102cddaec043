// Package simcluster_test runs the example of docs/simcluster.md: programs in Python, and the simulated cluster.
package simcluster_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireEnv makes the want of redis-py a failure. scripts/ensure-redis-py.sh installs it.
const requireEnv = "REDISLANES_REQUIRE_REDIS_PY"

// python runs a program with redis-py, and returns what it prints and its error.
func python(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "python3", args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join("..", "..", "bin", "redis-py"), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// serve starts simcluster, and returns the address of its HTTP interface. SIGINT must end it.
func serve(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "simcluster")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../redistest/cmd/simcluster").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.Command(program, "-port", "0", "-http", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait())
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "faults: "); ok {
			return url
		}
	}
	t.Fatal("simcluster did not print its addresses")
	return ""
}

// TestFind: find.py finds in at most 50 seeds and a minute that redis-py counts a hit twice, and accuses the right program in none of
// these seeds.
func TestFind(t *testing.T) {
	if out, err := python(t.Context(), "-c", "import redis"); err != nil {
		if os.Getenv(requireEnv) != "" {
			t.Fatalf("no redis-py, and %s is set: scripts/ensure-redis-py.sh installs it: %s", requireEnv, out)
		}
		t.Skip("no redis-py: scripts/ensure-redis-py.sh installs it")
	}
	url := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := python(ctx, "find.py", url, "wrong", "50")
	require.Error(t, err)
	require.Regexp(t, `^seed \d+: \S+: one call was counted \d+ times, from`, out)
	seed, err := strconv.Atoi(strings.TrimPrefix(strings.Split(out, ":")[0], "seed "))
	require.NoError(t, err)
	t.Log(out)

	seeds := strconv.Itoa(max(seed, 5))
	out, err = python(t.Context(), "find.py", url, "right", seeds)
	require.NoError(t, err, out)
	require.Equal(t, "nothing found in "+seeds+" seeds\n", out)
}
