package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

// commandEnv makes the tests' program the command.
const commandEnv = "REDISLANES_COMPARE_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" || load.IsNetwork() {
		main()
		return
	}
	servers.VerifyNoLeaks(m)
}

// result is what a use of the command left.
type result struct {
	status      int
	out, errors string
	report      report.Report
	plots       []string
}

func run(t *testing.T, args ...string) result {
	t.Helper()
	t.Setenv("REDIS_ADDRS", "")
	folder := t.TempDir()
	var out, errors bytes.Buffer
	args = append(args, "-json", filepath.Join(folder, "out.json"), "-plots", filepath.Join(folder, "plots"))
	r := result{status: command(t.Context(), args, &out, &errors)}
	r.out, r.errors = out.String(), errors.String()
	if text, err := os.ReadFile(filepath.Join(folder, "out.json")); err == nil {
		require.NoError(t, json.Unmarshal(text, &r.report))
	}
	files, _ := filepath.Glob(filepath.Join(folder, "plots", "*"))
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(t, err)
		require.Positive(t, info.Size())
		r.plots = append(r.plots, filepath.Base(f))
	}
	return r
}

// TestQuick runs quick.yaml on a real cluster and looks at all that comes out. Callers use all
// processors as long as they may, which is less here.
func TestQuick(t *testing.T) {
	servers.RequireServer(t)
	page := filepath.Join(t.TempDir(), "page.html")
	text, err := os.ReadFile("settings/quick.yaml")
	require.NoError(t, err)
	shorter := strings.NewReplacer("duration: 200ms", "duration: 70ms", "warm_up: 100ms", "warm_up: 30ms").Replace(string(text))
	require.NotEqual(t, string(text), shorter)
	r := run(t, "-f", write(t, shorter), "-stats", "-png", "-html", page)
	require.Equal(t, ok, r.status, r.errors)
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "<h1>Does everything work?</h1>")
	for _, row := range []string{
		"| scenario=mixed_2keys | fixed-10 ", "| scenario=mixed_2keys | laned-4 ",
		"| scenario=shop        | fixed-10, fast   |", "| scenario=shop        | laned-4, writes  |", "| scenario=shop        | laned-4 ",
	} {
		require.Contains(t, r.out, row)
	}
	require.Contains(t, r.out, "| exc. kurtosis |")
	require.Contains(t, r.out, "Mann-Whitney")
	require.NotContains(t, r.out, "interrupted")
	require.Contains(t, r.errors, "starting a cluster of 3")

	require.False(t, r.report.Interrupted)
	require.NotEmpty(t, r.report.Machine.Redis)
	require.Len(t, r.report.Runs, 2)
	for _, run := range r.report.Runs {
		require.Len(t, run.Endpoints, 2)
		for i, e := range run.Endpoints {
			require.Len(t, e.Phases, 1)
			p := e.Phases[0]
			require.Zero(t, p.Failed)
			require.Positive(t, p.Requests)
			require.Positive(t, p.Rate)
			require.Len(t, p.PerRound, 4)
			require.Equal(t, p.Requests, p.Latency.Count)
			require.NotEmpty(t, p.Bound)
			require.Positive(t, p.Resources.IdleTrip.At(50))
			require.Positive(t, p.Resources.LoadedTrip.At(50))
			require.Positive(t, p.Resources.Servers.Busiest)
			require.Len(t, p.Latency.Percentiles, 11)
			require.Equal(t, i > 0, len(p.Tests) > 0, "tests are against the first endpoint")
		}
	}
	for _, name := range []string{"run-01-scenario-mixed-2keys-percentiles.svg", "run-02-scenario-shop-throughput.png"} {
		require.Contains(t, r.plots, name)
	}
}

// TestExistingCluster measures the cluster that the file names, over a varied
// number, and leaves it running.
func TestExistingCluster(t *testing.T) {
	e := redistest.StartEmulated(t, 2)
	file := write(t, `
addrs: [`+e.Addrs()[0]+`]
scenario: mixed_2keys
duration: 100ms
warm_up: 1ms
rounds: 1
vary: {callers: [1, 2, 4]}
`)
	r := run(t, "-f", file)
	require.Equal(t, ok, r.status, r.errors)
	require.Contains(t, r.out, "(an existing cluster)")
	require.Contains(t, r.plots, "over-callers.svg")
	require.Contains(t, r.errors, "plots: ", "it says where they are")
	require.NotContains(t, r.errors, "starting")
	require.Positive(t, e.Calls(0, "INCRBY"))
}

// TestRaw writes what is measured, and reports it again without measuring.
func TestRaw(t *testing.T) {
	e := redistest.StartEmulated(t, 2)
	file := write(t, `
question: Which?
addrs: [`+e.Addrs()[0]+`]
scenario: read_write
keys: 100
duration: 20ms
rounds: 2
rate: 1000
sla: 1s
vary: {pool: [{kind: fixed, size: 1}, {kind: fixed, size: 2}]}
`)
	lines := filepath.Join(t.TempDir(), "raw.jsonl")
	first := run(t, "-f", file, "-raw", lines, "-stats")
	require.Equal(t, ok, first.status, first.errors)
	calls := e.Calls(0, "GET")
	again := run(t, "-from", lines, "-stats")
	require.Equal(t, ok, again.status, again.errors)
	require.Equal(t, first.out, again.out)
	require.Equal(t, first.plots, again.plots)
	require.Equal(t, calls, e.Calls(0, "GET"))
}

// TestOnly leaves runs out by their names.
func TestOnly(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	file := write(t, "{addrs: ['"+e.Addrs()[0]+"'], duration: 5ms, warm_up: 0, rounds: 1, vary: {callers: [1, 2]}}")
	r := run(t, "-f", file, "-only", "callers=2$")
	require.Equal(t, ok, r.status, r.errors)
	require.Len(t, r.report.Runs, 1)
	require.Equal(t, "callers=2", r.report.Runs[0].Name)
}

// TestMisuse: nothing is started, and what is wrong is said.
func TestMisuse(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no file":      {nil, "want a file of settings"},
		"missing file": {[]string{"-f", "no-such-file"}, "no-such-file"},
		"mistake":      {[]string{"-f", write(t, "callers: -1")}, `:1:10: callers: "-1": want a whole number`},
		"flag":         {[]string{"-nonsense"}, "-nonsense"},
		"both files":   {[]string{"-f", "settings/quick.yaml", "-from", "raw.jsonl"}, "want a file of settings"},
		"no raw file":  {[]string{"-from", "no-such-file"}, "-from: open no-such-file"},
		"not raw":      {[]string{"-from", "settings/quick.yaml"}, "-from: settings/quick.yaml: line 1: "},
		"-from -only":  {[]string{"-from", "x", "-only", "y"}, "-only chooses what to measure"},
		"expression":   {[]string{"-f", "settings/quick.yaml", "-only", "("}, "-only: "},
		"no run":       {[]string{"-f", "settings/quick.yaml", "-only", "none"}, `the first one is "scenario=mixed_2keys"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, test.args...)
			require.Equal(t, misused, r.status)
			require.Contains(t, r.errors, test.want)
			require.Empty(t, r.out)
			require.NotContains(t, r.errors, "starting")
		})
	}
}

// TestUnwritable: what cannot be written to is known before anything is measured,
// and files that exist stay as they are.
func TestUnwritable(t *testing.T) {
	folder := t.TempDir()
	file, kept := filepath.Join(folder, "file"), filepath.Join(folder, "kept")
	for _, name := range []string{file, kept} {
		require.NoError(t, os.WriteFile(name, []byte("text"), 0o600))
	}
	for name, args := range map[string][]string{
		"-json":  {"-json", filepath.Join(file, "out.json")},
		"-html":  {"-json", kept, "-html", filepath.Join(file, "out.html")},
		"-raw":   {"-json", kept, "-raw", filepath.Join(file, "raw.jsonl")},
		"-plots": {"-json", kept, "-plots", file},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errors bytes.Buffer
			args := append([]string{"-f", "settings/quick.yaml"}, args...)
			require.Equal(t, failed, command(t.Context(), args, &out, &errors))
			require.Contains(t, errors.String(), "compare: "+name+": ")
			require.NotContains(t, errors.String(), "starting")
			require.Empty(t, out.String())
			text, err := os.ReadFile(kept)
			require.NoError(t, err)
			require.Equal(t, "text", string(text))
		})
	}
}

// TestPrimariesOfAnExistingCluster: it cannot have several sizes, but a single
// one in a file is no obstacle.
func TestPrimariesOfAnExistingCluster(t *testing.T) {
	t.Setenv("REDIS_ADDRS", "127.0.0.1:1")
	var out, errors bytes.Buffer
	require.Equal(t, misused, command(t.Context(), []string{"-f", "settings/primaries.yaml"}, &out, &errors))
	require.Contains(t, errors.String(), "settings/primaries.yaml varies primaries")
	require.Equal(t, failed, command(t.Context(), []string{"-f", "settings/pool-or-no-pool.yaml"}, &out, &errors))
	require.Contains(t, out.String(), "127.0.0.1:1")
}

// TestUnreachable ends early, and says so in every form.
func TestUnreachable(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	addr := e.Addrs()[0]
	require.NoError(t, e.Close())
	r := run(t, "-f", write(t, "addrs: ['"+addr+"']"))
	require.Equal(t, failed, r.status)
	require.Contains(t, r.out, "ended early: run ")
	require.Contains(t, r.report.Failure, addr)
}

// TestRest waits as long as it is told, and ends with its context.
func TestRest(t *testing.T) {
	began := time.Now()
	require.NoError(t, rest(t.Context(), 5*time.Millisecond))
	require.GreaterOrEqual(t, time.Since(began), 5*time.Millisecond)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, rest(ended, time.Hour), context.Canceled)
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(name, []byte(strings.TrimSpace(text)), 0o600))
	return name
}
