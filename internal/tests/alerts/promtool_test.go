package alerts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// promtool must end without an error.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	startPromtool(t, args...)(t)
}

// startPromtool is promtool that waits for the end in what it returns.
func startPromtool(t *testing.T, args ...string) (end func(t *testing.T)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Env = append(os.Environ(), "GOGC=400") // it spends half of its time on collecting garbage
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = cmd.Wait()
	}()
	t.Cleanup(func() { <-ended }) // t's context has ended it by then
	return func(t *testing.T) {
		t.Helper()
		<-ended
		require.NoError(t, err, "promtool %s:\n%s", strings.Join(args, " "), &out)
	}
}

// TestRules: each alert fires when it is said to, and not while all is well; see the
// file.
func TestRules(t *testing.T) {
	t.Parallel()
	requirePrometheus(t, "promtool")
	promtool(t, "check", "rules", monitoring+"alerts.yaml")
	promtool(t, "check", "config", monitoring+"prometheus.yml")
	var ends []func(t *testing.T)
	for _, file := range parts(t, runtime.GOMAXPROCS(0)) {
		ends = append(ends, startPromtool(t, "test", "rules", file))
	}
	for _, end := range ends {
		end(t)
	}
}

// parts returns files that have all tests of alerts_test.yaml among them, as promtool
// runs those of one file one after the other.
func parts(t *testing.T, n int) (files []string) {
	var whole struct {
		RuleFiles          []string `yaml:"rule_files"`
		EvaluationInterval string   `yaml:"evaluation_interval"`
		Tests              []any
	}
	read(t, monitoring+"alerts_test.yaml", true, &whole)
	require.Equal(t, []string{"alerts.yaml"}, whole.RuleFiles)
	rules, err := filepath.Abs(monitoring + "alerts.yaml")
	require.NoError(t, err)
	whole.RuleFiles = []string{rules}
	tests := make([][]any, n)
	for i, test := range whole.Tests {
		tests[i%n] = append(tests[i%n], test)
	}
	dir := t.TempDir()
	for i, some := range tests {
		whole.Tests = some
		text, err := yaml.Marshal(whole)
		require.NoError(t, err)
		file := filepath.Join(dir, fmt.Sprint("part", i, ".yaml"))
		require.NoError(t, os.WriteFile(file, text, 0o600))
		files = append(files, file)
	}
	return files
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
