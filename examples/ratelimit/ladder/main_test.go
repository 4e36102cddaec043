package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/evidence"
	judged "github.com/redislanes/redislanes/bench/verdict"
	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/internal/pages"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/fake"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/report"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// commandEnv makes the tests' program the command.
const commandEnv = "REDISLANES_LADDER_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" {
		main()
		return
	}
	leak.Main(m)
}

// result is what a use of the command left.
type result struct {
	status      int
	out, errors string
	plot        string
	report      *report.Report
}

func run(t *testing.T, args ...string) result {
	t.Helper()
	folder := t.TempDir()
	raw, plot := filepath.Join(folder, "raw.jsonl.gz"), filepath.Join(folder, "plot.svg")
	var out, errors bytes.Buffer
	r := result{status: command(t.Context(), append(args, "-raw", raw, "-plot", plot), &out, &errors)}
	r.out, r.errors = out.String(), errors.String()
	if r.status == ok {
		var err error
		r.report, err = report.Read(raw)
		require.NoError(t, err)
		text, err := os.ReadFile(plot)
		require.NoError(t, err)
		r.plot = string(text)
	}
	return r
}

// TestCommand runs a ladder against a real gRPC server and looks at all that comes
// out. How fast the machine is just then is nothing that it can know.
func TestCommand(t *testing.T) {
	s := fake.New(100, time.Millisecond)
	r := run(t, "-target", fake.Serve(t, s), "-from", "100", "-to", "300", "-step", "100", "-max", "300",
		"-for", "500ms", "-warmup", "100ms", "-pause", "10ms", "-keys", "20", "-descriptor", "tenant=t1,user=u*", "-timeout", "20s")
	require.Equal(t, ok, r.status, r.errors)
	require.Len(t, r.report.Steps, 3)
	for i, step := range r.report.Steps {
		require.Equal(t, 100*(i+1), step.Target)
		require.EqualValues(t, 50*(i+1), step.Successes+step.Failures)
		require.Zero(t, step.Failures)
		require.Zero(t, step.OverLimit)
		require.GreaterOrEqual(t, step.Latency.P50, time.Millisecond)
		require.NotEmpty(t, step.Verdict)
		require.Contains(t, step.CPU, "driver")
	}
	require.Equal(t, verdict.Summarize(r.report.Steps), r.report.Summary)
	require.Equal(t, 600*6/10+4, s.Count(), "requests of the warm-up, of the steps, and the first of each connection")
	require.Len(t, s.Seen(), 20)
	require.Contains(t, s.Seen(), "shop / tenant=t1 user=u000019")
	for _, want := range []string{"| target/s |", "\n|      100 |", "\n|      300 |", "\nlimit: ", "\nbreaking point: "} {
		require.Contains(t, r.out, want)
	}
	require.Contains(t, r.errors, "step 1: 100 requests a second for 600ms\n")
	require.Contains(t, r.errors, "0 failed, P99 ")
	require.Contains(t, r.plot, "successes a second")
	require.Equal(t, []flags.Flag{{Name: "descriptor", Value: "[tenant=t1,user=u*]"}}, slices.DeleteFunc(r.report.Settings, func(f flags.Flag) bool { return f.Name != "descriptor" }))
}

// TestService starts the service in the folder above, and says what it costs.
func TestService(t *testing.T) {
	servers.RequireServer(t)
	program := filepath.Join(t.TempDir(), "ratelimit")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "..").CombinedOutput()
	require.NoError(t, err, string(built))
	r := run(t, "-service", program+" -no-leases -budget=5s", "-from", "200", "-to", "200", "-max", "200", "-for", "1s", "-warmup", "0", "-timeout", "20s", "-keys", "20")
	require.Equal(t, ok, r.status, r.errors)
	step := r.report.Steps[0]
	require.EqualValues(t, 200, step.Successes)
	require.Zero(t, step.OverLimit)
	for _, part := range report.Parts {
		require.Contains(t, step.CPU, part)
	}
	require.Positive(t, step.CPU["service"])

	r = run(t, "-service", "false")
	require.Equal(t, failed, r.status)
	require.Contains(t, r.errors, "ladder: --service false: it ended before it served")
}

// TestPagesAreWhatWasMeasured makes the tables of the pages again from the raw files.
func TestPagesAreWhatWasMeasured(t *testing.T) {
	changed, err := pages.Rewrite("../../../bench", "ladder", true, evidence.Dated(report.Table))
	require.NoError(t, err)
	require.Empty(t, changed, "differ from what was measured: run make pages")
}

// TestServiceGoesAway: its failures are counted by kind, and the ladder is
// finished.
func TestServiceGoesAway(t *testing.T) {
	s := fake.New(100, 0)
	proxy := redistest.StartProxy(t, fake.Serve(t, s))
	s.Each = func(n int) {
		if n == 30 {
			proxy.Refuse(true)
			proxy.Reset()
		}
	}
	r := run(t, "-target", proxy.Addr(), "-from", "100", "-to", "100", "-max", "100", "-for", "1s", "-warmup", "0", "-connections", "1")
	require.Equal(t, ok, r.status, r.errors)
	step := r.report.Steps[0]
	require.EqualValues(t, 100, step.Successes+step.Failures)
	require.Equal(t, judged.Breaking, step.Verdict)
	require.Greater(t, step.FailureKinds["Unavailable"].Count, int64(10))
	require.Contains(t, r.out, "| Unavailable ")
}

func TestUnreachable(t *testing.T) {
	addr := closedAddr(t)
	r := run(t, "-target", addr)
	require.Equal(t, failed, r.status)
	require.Contains(t, r.errors, "ladder: -target "+addr+": the first request failed: ")
	require.Empty(t, r.out)
}

// closedAddr returns an address that refuses connections.
func closedAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// TestMisuse: nothing is sent, and what is wrong is said.
func TestMisuse(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", `--target "": want host:port`},
		{"-target a:1 -service x", "--target and --service: want one of them"},
		{"-target localhost", `--target "localhost": want host:port`},
		{"-target :8081", `--target ":8081": want host:port`},
		{"-target a:1 -from 0", "--from 0: want 1 to 10000000"},
		{"-target a:1 -from 100 -to 50", "--to 50: want 100 to 10000000"},
		{"-target a:1 -max 20000", "--max 20000: want 30000 to"},
		{"-target a:1 -for 1ms", "--for 1ms: want 10ms to"},
		{"-target a:1 -for soon", "--for"},
		{"-target a:1 -from 1 -for 10ms", "--for 10ms: want 1s to"},
		{"-target a:1 -warmup=-1s", "--warmup -1s: want 0s to"},
		{"-target a:1 -timeout 0s", "--timeout 0s: want 1ms to 1m0s"},
		{"-target a:1 -connections 0", "--connections 0: want 1 to 1000"},
		{"-target a:1 -zipf 1", "--zipf 1: want more than 1"},
		{"-target a:1 -descriptor user", `"user": want entries key=value`},
		{"-target a:1 -descriptor user=x", "--descriptor [user=x]: want a value with *"},
		{"-target a:1 -domain=", `--domain "": want a name`},
		{"-target a:1 -nonsense", "-nonsense"},
		{"-target a:1 more", "unexpected argument more"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errors bytes.Buffer
			require.Equal(t, misused, command(t.Context(), strings.Fields(c.args), &out, &errors))
			require.Contains(t, errors.String(), c.want)
			require.Contains(t, errors.String(), "-help")
			require.Empty(t, out.String())
		})
	}
}

// TestUnwritable: files that cannot be written are known before anything is measured.
func TestUnwritable(t *testing.T) {
	s := fake.New(10, 0)
	addr := fake.Serve(t, s)
	none := filepath.Join(t.TempDir(), "none", "out")
	for _, flag := range []string{"-raw", "-plot"} {
		var out, errors bytes.Buffer
		require.Equal(t, failed, command(t.Context(), []string{"-target", addr, "-connections", "1", flag, none}, &out, &errors))
		require.Contains(t, errors.String(), flag+": ")
	}
	require.Equal(t, 2, s.Count())
}

func TestHelp(t *testing.T) {
	var out, errors bytes.Buffer
	require.Equal(t, ok, command(t.Context(), []string{"-help"}, &out, &errors))
	for _, want := range []string{"go run ./ladder", "--target=HOST:PORT", "--warmup=5s", "--descriptor=KEY=VALUE,..."} {
		require.Contains(t, errors.String(), want)
	}
}

// TestInterruptedBeforeItBegins does not wait for a service that does not answer.
func TestInterruptedBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errors bytes.Buffer
	require.Equal(t, interrupted, command(ctx, []string{"-target", closedAddr(t)}, &out, &errors))
}
