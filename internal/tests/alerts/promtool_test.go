package alerts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// requirePrometheus skips the test if the program is not there, or fails it if
// REDISLANES_REQUIRE_PROMETHEUS is 1.
func requirePrometheus(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("REDISLANES_REQUIRE_PROMETHEUS") == "1" {
		t.Fatalf("no %s in the PATH, and REDISLANES_REQUIRE_PROMETHEUS=1: install it, `make test` does", program)
	}
	t.Skipf("no %s in the PATH: install it, or run `make test`, which does", program)
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
	require.NoError(t, err, "promtool %s:\n%s", strings.Join(args, " "), out)
}

// TestRules: each alert fires when it is said to, and not while all is well; see the
// file.
func TestRules(t *testing.T) {
	t.Parallel()
	requirePrometheus(t, "promtool")
	promtool(t, "check", "rules", monitoring+"alerts.yaml")
	promtool(t, "check", "config", monitoring+"prometheus.yml")
	promtool(t, "test", "rules", monitoring+"alerts_test.yaml")
}

// panels is the part of a dashboard that is looked at here.
type panels struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// queries returns those of the dashboard, with values for its variables.
func queries(t *testing.T) (all []string) {
	text, err := os.ReadFile(monitoring + "dashboard.json")
	require.NoError(t, err)
	var d panels
	require.NoError(t, json.Unmarshal(text, &d))
	variables := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$node", ".*")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, variables.Replace(target.Expr))
		}
	}
	require.NotEmpty(t, all)
	return all
}

// TestQueriesOfTheDashboard: Prometheus can parse each of them, as rules that record
// their results.
func TestQueriesOfTheDashboard(t *testing.T) {
	t.Parallel()
	requirePrometheus(t, "promtool")
	var recorded []map[string]string
	for i, query := range queries(t) {
		require.NotContains(t, query, "$")
		recorded = append(recorded, map[string]string{"record": fmt.Sprint("query:", i), "expr": query})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": recorded}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	promtool(t, "check", "rules", file)
}
