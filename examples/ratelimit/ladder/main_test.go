package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/redistest"

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
	page        string
	report      report.Report
}

func run(t *testing.T, args ...string) result {
	t.Helper()
	folder := t.TempDir()
	data, page := filepath.Join(folder, "out.json"), filepath.Join(folder, "out.html")
	var out, errors bytes.Buffer
	r := result{status: command(t.Context(), append(args, "-json", data, "-report", page), &out, &errors)}
	r.out, r.errors = out.String(), errors.String()
	if text, err := os.ReadFile(data); err == nil {
		require.NoError(t, json.Unmarshal(text, &r.report))
	}
	if text, err := os.ReadFile(page); err == nil {
		r.page = string(text)
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
	require.False(t, r.report.Interrupted)
	require.Len(t, r.report.Steps, 3)
	for i, step := range r.report.Steps {
		require.Equal(t, 100*(i+1), step.Target)
		require.EqualValues(t, 50*(i+1), step.Successes+step.Failures)
		require.Zero(t, step.Failures)
		require.Zero(t, step.OverLimit)
		require.GreaterOrEqual(t, step.Latency.P50, time.Millisecond)
		require.NotEmpty(t, step.Verdict)
	}
	require.Equal(t, verdict.Summarize(r.report.Steps), r.report.Summary)
	require.Equal(t, 600*6/10+4, s.Count(), "requests of the warm-up, of the steps, and the first of each connection")
	require.Len(t, s.Seen(), 20)
	require.Contains(t, s.Seen(), "shop / tenant=t1 user=u000019")
	for _, want := range []string{"| target/s |", "\n|      100 |", "\n|      300 |", "\nlimit: ", "\nbreaking point: "} {
		require.Contains(t, r.out, want)
	}
	require.Contains(t, r.errors, "step 1: 100 requests a second for 600ms\n")
	require.NotContains(t, r.errors, "\r")
	require.Equal(t, 3, strings.Count(r.page, "<svg"))
	require.Contains(t, r.page, "<td>300</td>")
	require.Contains(t, r.page, "<td class=\"long\">[tenant=t1,user=u*]</td>")
}

// TestOverload: a service that is asked for ten times what it can do breaks, and
// what its queue costs is in the latencies.
func TestOverload(t *testing.T) {
	s := fake.New(1, 20*time.Millisecond) // 50 a second
	r := run(t, "-target", fake.Serve(t, s), "-from", "500", "-to", "500", "-max", "2000", "-for", "1s", "-warmup", "500ms", "-timeout", "300ms")
	require.Equal(t, ok, r.status, r.errors)
	require.Len(t, r.report.Steps, 1, "no further than the breaking point")
	step := r.report.Steps[0]
	if step.Verdict == verdict.Inconclusive { // this machine is too busy to say
		require.Greater(t, step.Late.P99, step.Latency.P99/2)
		require.Equal(t, 500, r.report.Summary.Inconclusive)
		return
	}
	require.Equal(t, verdict.Breaking, step.Verdict)
	require.Equal(t, 500, r.report.Summary.Breaking)
	require.EqualValues(t, 500, step.Successes+step.Failures)
	require.Less(t, step.Actual, 75.0)
	require.Contains(t, step.FailureKinds, "DeadlineExceeded")
	if step.Successes > 0 {
		require.Greater(t, step.Latency.P50, 100*time.Millisecond)
	}
	require.Contains(t, r.out, "limit:               none")
	require.Contains(t, r.out, "| DeadlineExceeded |")
	require.Contains(t, r.errors, "outstanding")
}

// TestLatency: the proxy's delay is in every latency.
func TestLatency(t *testing.T) {
	r := run(t, "-target", fake.Serve(t, fake.New(100, 0)), "-from", "50", "-to", "50", "-max", "50", "-for", "200ms", "-warmup", "0",
		"-latency", "30ms", "-timeout", "20s", "-keys", "1", "-descriptor", "user=one")
	require.Equal(t, ok, r.status, r.errors)
	require.EqualValues(t, 10, r.report.Steps[0].Successes)
	require.GreaterOrEqual(t, r.report.Steps[0].Latency.Min, 30*time.Millisecond)
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
	require.Equal(t, verdict.Breaking, step.Verdict)
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
		{"-target a:1 -refine=-1", "--refine -1: want 0 to 100"},
		{"-target a:1 -refine NaN", "--refine NaN: want 0 to 100"},
		{"-target a:1 -distribution normal", `--distribution must be one of "uniform","zipf"`},
		{"-target a:1 -distribution zipf -skew 1", "--skew 1: want more than 1"},
		{"-target a:1 -descriptor user", `"user": want entries key=value`},
		{"-target a:1 -descriptor user=x", "--descriptor [user=x]: want a value with *"},
		{"-target a:1 -domain=", `--domain "": want a name`},
		{"-target a:1 -json x -report ./x", "--json x and --report ./x: want two files"},
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

// TestUnwritable: files that cannot be written are known before anything is
// measured, and one that can keeps what it holds until then.
func TestUnwritable(t *testing.T) {
	s := fake.New(10, 0)
	addr := fake.Serve(t, s)
	kept := filepath.Join(t.TempDir(), "kept.json")
	require.NoError(t, os.WriteFile(kept, []byte("before"), 0o600))
	var out, errors bytes.Buffer
	require.Equal(t, failed, command(t.Context(), []string{"-target", addr, "-connections", "1", "-json", kept,
		"-report", filepath.Join(t.TempDir(), "none", "out.html")}, &out, &errors))
	require.Contains(t, errors.String(), "--report: ")
	require.Equal(t, 1, s.Count())
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, "before", string(text))
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
