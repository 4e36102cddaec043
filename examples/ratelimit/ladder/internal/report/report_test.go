package report

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/bench/rawfile"
	judged "github.com/redislanes/redislanes/bench/verdict"
	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/examples/ratelimit/internal/flags"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// result returns the result of ten seconds at a rate, of which so many requests
// fail. Latencies are from 1 % to 100 % of the highest one.
func result(rate int, failures int64, highest time.Duration) *load.Result {
	r := &load.Result{
		Successes: int64(rate)*10 - failures, Took: 10 * time.Second, MostOutstanding: 7,
		Failures: make(map[string]load.Failure),
		Cores:    map[string]float64{"driver": 0.5, "service": 0.75},
		Latency:  hdrhistogram.New(1, time.Minute.Nanoseconds(), 3), Late: hdrhistogram.New(1, time.Minute.Nanoseconds(), 3),
	}
	r.Answered, r.Denied = r.Successes, r.Successes/4
	if failures > 0 {
		r.Failures[load.TooLate] = load.Failure{Count: failures, Example: "text | of\ntwo lines"}
	}
	for i := int64(1); i <= 100 && r.Successes > 0; i++ {
		_ = r.Latency.RecordValues(i*highest.Nanoseconds()/100, r.Successes/100)
		_ = r.Late.RecordValues(i*1000, r.Successes/100)
	}
	return r
}

func add(r *Report, rate int, measured *load.Result) { r.Add(verdict.Of(rate, measured)) }

// ladder is a report with a limit and a breaking point.
func ladder() *Report {
	r := New([]flags.Flag{{Name: "service", Value: "ratelimit -no-leases"}, {Name: "keys", Value: "10"}})
	add(r, 10_000, result(10_000, 0, 5*time.Millisecond))
	add(r, 12_500, result(12_500, 125, 40*time.Millisecond))
	add(r, 15_000, result(15_000, 150, 120*time.Millisecond))
	add(r, 17_500, result(17_500, 30_000, 900*time.Millisecond))
	return r
}

func text(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	return b.String()
}

func TestSteps(t *testing.T) {
	r := ladder()
	var verdicts []judged.Verdict
	for _, s := range r.Steps {
		verdicts = append(verdicts, s.Verdict)
		require.Equal(t, int64(s.Target)*10, s.Successes+s.Failures)
		require.Equal(t, s.Successes/4, s.OverLimit)
	}
	require.Equal(t, []judged.Verdict{judged.Excellent, judged.Good, judged.Acceptable, judged.Breaking}, verdicts)
	require.Equal(t, verdict.Summary{Recommended: 12_000, Limit: 15_000, Breaking: 17_500}, r.Summary)
	first := r.Steps[0].Latency
	for got, want := range map[time.Duration]float64{first.Min: 5e4, first.P50: 2.5e6, first.P99: 4.95e6, first.Max: 5e6, first.Mean: 2.525e6} {
		require.InEpsilon(t, want, float64(got), 0.002)
	}
}

// TestRaw: a raw file gives the same report, and the tables of the pages.
func TestRaw(t *testing.T) {
	r := ladder()
	name := filepath.Join(t.TempDir(), "raw.jsonl.gz")
	w, err := rawfile.Create(name)
	require.NoError(t, err)
	require.NoError(t, w.Write(Line{Start: &r.Start}))
	for i := range r.Steps {
		require.NoError(t, w.Write(Line{Step: &r.Steps[i]}))
	}
	require.NoError(t, w.Write(Line{End: new(time.Time)}))
	require.NoError(t, w.Close())
	back, err := Read(name)
	require.NoError(t, err)
	require.Equal(t, r.Summary, back.Summary)
	require.Equal(t, r.Steps[3], back.Steps[3])

	limits, err := Table(pages.Table{Files: []string{name, name}, Name: "limits"})
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(limits, "\n|   10 |    off | 15000 |     17500 |              12000 |            119ms |        0.50 |    0.75 |     - | 17.1 % of the requests failed, more than 1 % |"))
	steps, err := Table(pages.Table{Files: []string{name}, Name: "steps"})
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(steps, "\n"))
	_, err = Table(pages.Table{Files: []string{name}, Name: "else"})
	require.EqualError(t, err, "want limits or steps")
}

func TestTable(t *testing.T) {
	out := text(t, ladder().WriteTable)
	for _, want := range []string{
		"| target/s | actual/s | over limit |  failed | average |",
		"|    10000 |    10000 |    25.00 % |  0.00 % |",
		"| 4.95ms |", "|        0.50 |    0.75 |     - |  excellent |", "|   breaking |",
		"recommended maximum: 12000 requests a second, 80 % of the limit\n",
		"limit:               15000 requests a second, the highest step that held (acceptable, P99 119ms)\n",
		"breaking point:      17500 requests a second: 17.1 % of the requests failed, more than 1 %\n",
		`| DeadlineExceeded | text \| of two lines  |`,
	} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "interrupted")
}

func TestLines(t *testing.T) {
	lines := func(failures ...int64) string { // of 100, 200 and 300 requests a second
		r := New(nil)
		for i, n := range failures {
			add(r, 100*(i+1), result(100*(i+1), n, time.Millisecond))
		}
		return text(t, r.WriteTable)
	}
	none := lines()
	require.Contains(t, none, "recommended maximum: none\n")
	require.Contains(t, none, "none: no step was finished")
	require.Contains(t, none, "breaking point:      not reached\n")
	require.Contains(t, lines(1000), "none: not even the lowest step held")
	require.Contains(t, lines(0, 2000, 0), "note:                300 requests a second held although a lower rate did not")
}

// TestNotes: a driver that is late, and denials that cost a service nothing, are
// said.
func TestNotes(t *testing.T) {
	notes := func(late, highest time.Duration, denied int64) string {
		r := New(nil)
		step := result(1000, 0, highest)
		step.Denied = denied
		step.Late.Reset()
		require.NoError(t, step.Late.RecordValue(late.Nanoseconds()))
		add(r, 1000, step)
		_, notes, _ := strings.Cut(text(t, r.WriteTable), "\nbreaking point:")
		return notes
	}
	const ms = time.Millisecond
	require.NotContains(t, notes(2*ms, 3*ms, 500), "note:")
	require.NotContains(t, notes(9*ms, 40*ms, 0), "note:")
	late := notes(9*ms, 15*ms, 0)
	require.Contains(t, late, "inconclusive from 1000 requests a second on: the driver had too little CPU\n")
	require.Contains(t, late, "inconclusive at 1000 requests a second: the driver had too little CPU")
	require.Contains(t, notes(11*ms, 100*ms, 0), "the driver sent late")
	require.Contains(t, notes(1*ms, 3*ms, 600), "at 1000 requests a second more than 5 % were over a limit")
}

// TestInterrupted: a step that was cut short is shown and says nothing.
func TestInterrupted(t *testing.T) {
	r := ladder()
	cut := result(20_000, 0, time.Millisecond)
	cut.Interrupted = true
	add(r, 20_000, cut)
	require.Len(t, r.Steps, 5)
	require.Equal(t, verdict.Interrupted, r.Steps[4].Verdict)
	require.Equal(t, ladder().Summary, r.Summary)
	r.Interrupted = true
	require.Contains(t, text(t, r.WriteTable), "interrupted: the table has what was measured until then")
}

// TestPlots draws ladders of all kinds, without a number that is none.
func TestPlots(t *testing.T) {
	for name, r := range map[string]*Report{
		"whole": ladder(), "one step": with(100, 0, time.Millisecond), "no success": with(100, 1000, 0), "slow": with(100, 0, 30*time.Second),
	} {
		svg := text(t, r.WritePlot)
		require.NotContains(t, svg, "NaN", name)
		require.NotContains(t, svg, "Inf", name)
	}
	for _, want := range []string{">target<", ">limit<", ">breaking point<", ">10k<", ">P99<", ">excellent below 10ms<", ">failed<", ">breaking above 1 %<"} {
		require.Contains(t, text(t, ladder().WritePlot), want)
	}
	require.EqualError(t, New(nil).WritePlot(io.Discard), "no step was measured")
}

func with(rate int, failures int64, highest time.Duration) *Report {
	r := New(nil)
	add(r, rate, result(rate, failures, highest))
	return r
}

// TestFullDisk: what cannot be written is an error.
func TestFullDisk(t *testing.T) {
	r := ladder()
	for _, write := range []func(io.Writer) error{r.WriteTable, r.WritePlot} {
		require.ErrorIs(t, write(full{}), errFull)
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
