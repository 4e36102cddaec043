package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/pages"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/evidence"
	"github.com/redislanes/redislanes/bench/internal/child"
	"github.com/redislanes/redislanes/bench/rawfile"
)

// commandEnv makes the tests' program the command.
const commandEnv = "REDISLANES_COMPARE_COMMAND"

func TestMain(m *testing.M) {
	child.Main()
	if os.Getenv(commandEnv) != "" {
		main()
		return
	}
	servers.VerifyNoLeaks(m)
}

// result is what a use of the command left.
type result struct {
	status      int
	out, errors string
	report      *report.Report // of the raw file
	plots       []string
}

func run(t *testing.T, args ...string) (r result) {
	t.Helper()
	folder := t.TempDir()
	var out, errors bytes.Buffer
	lines := filepath.Join(folder, "out.jsonl.gz")
	if args = append(args, "-plots", filepath.Join(folder, "plots")); slices.Contains(args, "-f") {
		args = append(args, "-raw", lines)
	}
	r.status = command(t.Context(), args, &out, &errors)
	r.out, r.errors = out.String(), errors.String()
	if _, err := os.Stat(lines); err == nil {
		r.report, err = readRaw(lines)
		require.NoError(t, err)
	}
	plots, err := filepath.Glob(filepath.Join(folder, "plots", "*.svg"))
	require.NoError(t, err)
	for _, name := range plots {
		r.plots = append(r.plots, filepath.Base(name))
	}
	return r
}

// TestQuick runs quick.yaml on a real cluster and looks at all that comes out. Callers use all
// processors as long as they may, which is less here.
func TestQuick(t *testing.T) {
	servers.RequireServer(t)
	t.Setenv("REDIS_ADDRS", "")
	text, err := os.ReadFile("settings/quick.yaml")
	require.NoError(t, err)
	shorter := strings.NewReplacer("duration: 200ms", "duration: 70ms", "warm_up: 100ms", "warm_up: 30ms").Replace(string(text))
	require.NotEqual(t, string(text), shorter)
	r := run(t, "-f", write(t, shorter))
	require.Equal(t, ok, r.status, r.errors)
	require.Contains(t, r.out, "Does everything work?")
	require.Contains(t, r.plots, "run-02-scenario-shop-percentiles.svg")
	for _, row := range []string{
		"| scenario=mixed_2keys | fixed-10 ", "| scenario=mixed_2keys | laned-4 ",
		"| scenario=shop        | fixed-10, fast |", "| scenario=shop        | laned-4, slow  |", "| scenario=shop        | laned-4 ",
	} {
		require.Contains(t, r.out, row)
	}
	require.NotContains(t, r.out, "interrupted")
	require.Contains(t, r.errors, "starting a cluster of 3")

	require.False(t, r.report.Interrupted)
	require.NotEmpty(t, r.report.Machine.Redis)
	require.Len(t, r.report.Runs, 2)
	for _, run := range r.report.Runs {
		require.Len(t, run.Endpoints, 2)
		for _, e := range run.Endpoints {
			require.Len(t, e.Phases, 1)
			p := e.Phases[0]
			require.Zero(t, p.Failed())
			require.Positive(t, p.Requests)
			require.Positive(t, p.Rate())
			require.Len(t, p.PerRound, 4)
			require.Equal(t, p.Requests, p.Latency.Count())
			require.NotEmpty(t, p.Bound)
			require.Positive(t, p.IdleTrips.At(50))
			require.Positive(t, p.LoadedTrips.At(50))
			require.Positive(t, p.Servers.Busiest)
		}
	}
}

// TestExistingCluster measures the cluster of REDIS_ADDRS, over a varied number and in steps, leaves it
// running, and reports the raw file again without measuring.
func TestExistingCluster(t *testing.T) {
	e := redistest.StartEmulated(t, 2)
	t.Setenv("REDIS_ADDRS", e.Addrs()[0])
	for plot, file := range map[string]string{
		"over-callers.svg": "{scenario: mixed_2keys, duration: 50ms, warm_up: 1ms, rounds: 2, rate: 1000, " +
			"sla: {within: 1s}, vary: {callers: [1, 2, 4]}}",
		"run-01-mixed-2keys-connections.svg": "{scenario: mixed_2keys, rounds: 2, steps: [{callers: 1, for: 50ms}, {callers: 2, for: 50ms}]}",
	} {
		lines := filepath.Join(t.TempDir(), "raw.jsonl")
		var first, errors bytes.Buffer
		require.Equal(t, ok, command(t.Context(), []string{"-f", write(t, file), "-raw", lines}, &first, &errors), errors.String())
		require.Contains(t, first.String(), "(an existing cluster)")
		require.NotContains(t, errors.String(), "starting")
		calls := e.Calls(0, "INCRBY")
		require.Positive(t, calls)
		again := run(t, "-from", lines)
		require.Equal(t, ok, again.status, again.errors)
		require.Contains(t, again.out, first.String())
		require.Contains(t, again.out, "plots: ", "it says where they are")
		require.Contains(t, again.plots, plot)
		require.Equal(t, calls, e.Calls(0, "INCRBY"))
	}
}

// TestMisuse: nothing is started, and what is wrong is said.
func TestMisuse(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	for name, test := range map[string]struct {
		status int
		args   []string
		want   string
	}{
		"no file":      {misused, nil, "want a file of settings"},
		"missing file": {misused, []string{"-f", "no-such-file"}, "no-such-file"},
		"mistake":      {misused, []string{"-f", write(t, "callers: -1")}, "callers -1: want"},
		"flag":         {misused, []string{"-nonsense"}, "-nonsense"},
		"both files":   {misused, []string{"-f", "settings/quick.yaml", "-from", "raw.jsonl"}, "want a file of settings"},
		"no raw file":  {failed, []string{"-from", "no-such-file"}, "open no-such-file"},
		"not raw":      {failed, []string{"-from", "settings/quick.yaml"}, "settings/quick.yaml: has no hash in its last line: it is no raw file"},
		"-plots":       {failed, []string{"-f", "settings/quick.yaml", "-plots", filepath.Join(file, "out")}, "compare: mkdir "},
		"-raw":         {failed, []string{"-f", "settings/quick.yaml", "-raw", filepath.Join(file, "raw.jsonl")}, "compare: -raw: "},
		"primaries":    {misused, []string{"-f", "settings/primaries.yaml"}, "settings/primaries.yaml varies primaries"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("REDIS_ADDRS", "127.0.0.1:1")
			var out, errors bytes.Buffer
			require.Equal(t, test.status, command(t.Context(), test.args, &out, &errors))
			require.Contains(t, errors.String(), test.want)
			require.Empty(t, out.String())
			require.NotContains(t, errors.String(), "starting")
		})
	}
}

// TestUnreachable ends early, and says so in every form.
func TestUnreachable(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	addr := e.Addrs()[0]
	require.NoError(t, e.Close())
	t.Setenv("REDIS_ADDRS", addr)
	r := run(t, "-f", write(t, "{}"))
	require.Equal(t, failed, r.status)
	require.Contains(t, r.out, "ended early: run ")
	require.Contains(t, r.report.Failure, addr)
	_, err := tableOf(r.report, "figures")
	require.ErrorContains(t, err, "did not end")
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(name, []byte(strings.TrimSpace(text)), 0o600))
	return name
}

func TestRawFilesThatAreNoneAreRefused(t *testing.T) {
	const first, last = `{"start": {"format": 1, "file": "f.yaml", "settings": "{}"}}` + "\n", `{"end": {}}` + "\n"
	for want, text := range map[string]string{
		"line 1: f.yaml: line 1: unknown key bogus":          strings.Replace(first, "{}", "bogus: 1", 1),
		"line 2: is of no kind":                              first + "{}\n" + last,
		"line 2: ":                                           first + `{"turn": {"phases": [{"Reads": "nonsense"}]}}` + "\n" + last,
		`line 2: the settings have no run "x"`:               first + `{"turn": {"run": "x"}}` + "\n" + last,
		`line 2: the run "mixed_10keys" has no endpoint "x"`: first + `{"turn": {"run": "mixed_10keys", "endpoint": "x"}}` + "\n" + last,
	} {
		name := filepath.Join(t.TempDir(), "test.jsonl")
		w, err := rawfile.Create(name)
		require.NoError(t, err)
		for l := range strings.Lines(text) {
			require.NoError(t, w.Write(json.RawMessage(l)))
		}
		require.NoError(t, w.Close())
		_, err = readRaw(name)
		require.ErrorContains(t, err, "test.jsonl: "+want)
	}
}

// measured is what both tests below read.
var measured = make(reports)

// TestPagesAreWhatWasMeasured makes the tables of the pages again from the raw files. With the
// race detector it takes a minute, unless histograms are left out of it, as in scripts/test.sh.
func TestPagesAreWhatWasMeasured(t *testing.T) {
	changed, err := pages.Rewrite("..", "compare", true, evidence.Dated(measured.table))
	require.NoError(t, err)
	require.Empty(t, changed, "differ from what was measured: run make pages")
}

// TestPicturesAreWhatWasMeasured draws the pictures of the pages again from the raw files.
func TestPicturesAreWhatWasMeasured(t *testing.T) {
	changed, err := pages.Redraw("..", "compare", true, measured.picture)
	require.NoError(t, err)
	require.Empty(t, changed, "differ from what was measured: run make pages")
}
