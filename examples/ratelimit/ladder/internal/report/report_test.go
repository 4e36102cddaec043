package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

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
		Latency:  hdrhistogram.New(1, time.Minute.Nanoseconds(), 3), Late: hdrhistogram.New(1, time.Minute.Nanoseconds(), 3),
	}
	r.Answered, r.Denied = r.Successes, r.Successes/4
	if failures > 0 {
		r.Failures[load.TooLate] = load.Failure{Count: failures, Example: "<script>alert(1)</script> | late"}
	}
	for i := int64(1); i <= 100 && r.Successes > 0; i++ {
		_ = r.Latency.RecordValues(i*highest.Nanoseconds()/100, r.Successes/100)
		_ = r.Late.RecordValues(i*1000, r.Successes/100)
	}
	return r
}

// ladder is a report with a limit and a breaking point.
func ladder() *Report {
	r := New([]flags.Flag{{Name: "for", Value: "10s"}, {Name: "target", Value: "<b>127.0.0.1:8081</b>"}})
	r.Add(10_000, result(10_000, 0, 5*time.Millisecond))
	r.Add(12_500, result(12_500, 125, 40*time.Millisecond))
	r.Add(17_500, result(17_500, 30_000, 900*time.Millisecond))
	r.Add(15_000, result(15_000, 150, 120*time.Millisecond))
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
	var verdicts []verdict.Verdict
	for _, s := range r.Steps {
		verdicts = append(verdicts, s.Verdict)
		require.Equal(t, int64(s.Target)*10, s.Successes+s.Failures)
		require.Equal(t, s.Successes/4, s.OverLimit)
	}
	require.Equal(t, []verdict.Verdict{verdict.Excellent, verdict.Good, verdict.Acceptable, verdict.Breaking}, verdicts)
	require.Equal(t, verdict.Summary{Recommended: 12_000, Limit: 15_000, Breaking: 17_500}, r.Summary)
	first := r.Steps[0].Latency
	for got, want := range map[time.Duration]float64{first.Min: 5e4, first.P50: 2.5e6, first.P99: 4.95e6, first.Max: 5e6, first.Mean: 2.525e6} {
		require.InEpsilon(t, want, float64(got), 0.002)
	}
	var back Report
	require.NoError(t, json.Unmarshal([]byte(text(t, r.WriteJSON)), &back))
	require.Equal(t, r.Summary, back.Summary)
	require.Equal(t, r.Steps[3], back.Steps[3])
}

func TestTable(t *testing.T) {
	out := text(t, ladder().WriteTable)
	for _, want := range []string{
		"| target/s | actual/s | successes | over limit | failures |  failed | average |",
		"|   10,000 |   10,000 |   100,000 |    25.00 % |        0 |  0.00 % |",
		"|      --: |      --: |",
		"| 4.95ms |", "|  excellent |", "|   breaking |",
		"recommended maximum: 12,000 requests a second, 80 % of the limit\n",
		"limit:               15,000 requests a second, the highest step that held (acceptable, P99 119ms)\n",
		"breaking point:      17,500 requests a second: 17.14 % of the requests failed, more than 1 %\n",
		`| DeadlineExceeded | <script>alert(1)</script> \| late |`,
	} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "interrupted")
	width := 0
	for line := range strings.Lines(out) { // all lines of the first table are as wide
		if n := utf8.RuneCountInString(line); !strings.HasPrefix(line, "|") {
			if width > 0 {
				break
			}
		} else if width == 0 {
			width = n
		} else {
			require.Equal(t, width, n, line)
		}
	}
	require.Positive(t, width)
}

func TestLines(t *testing.T) {
	lines := func(rates map[int]int64) string {
		r := New(nil)
		for rate, failures := range rates {
			r.Add(rate, result(rate, failures, time.Millisecond))
		}
		return text(t, r.WriteTable)
	}
	none := lines(nil)
	require.Contains(t, none, "recommended maximum: none\n")
	require.Contains(t, none, "none: no step was finished")
	require.Contains(t, none, "breaking point:      not reached\n")
	require.Contains(t, lines(map[int]int64{100: 1000}), "none: not even the lowest step held")
	require.Contains(t, lines(map[int]int64{100: 0, 200: 2000, 300: 0}), "note:                300 requests a second held although a lower rate did not")
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
		r.Add(1000, step)
		_, notes, _ := strings.Cut(text(t, r.WriteTable), "\nbreaking point:")
		return notes
	}
	const ms = time.Millisecond
	require.NotContains(t, notes(2*ms, 3*ms, 500), "note:")
	require.NotContains(t, notes(9*ms, 40*ms, 0), "note:")
	late := notes(9*ms, 15*ms, 0)
	require.Contains(t, late, "inconclusive from 1,000 requests a second on: the driver had too little CPU\n")
	require.Contains(t, late, "inconclusive at 1,000 requests a second: the driver had too little CPU")
	require.Contains(t, notes(11*ms, 100*ms, 0), "the driver sent late")
	require.Contains(t, notes(1*ms, 3*ms, 600), "at 1,000 requests a second more than 5 % were over a limit")
}

// TestInterrupted: a step that was cut short is shown and says nothing; one that
// was cut short before it began is left out.
func TestInterrupted(t *testing.T) {
	r := ladder()
	cut := result(20_000, 0, time.Millisecond)
	cut.Interrupted = true
	r.Add(20_000, cut)
	nothing := result(0, 0, 0)
	nothing.Interrupted = true
	r.Add(22_500, nothing)
	require.Len(t, r.Steps, 5)
	require.Equal(t, verdict.Interrupted, r.Steps[4].Verdict)
	require.Equal(t, ladder().Summary, r.Summary)
	require.Contains(t, text(t, r.WriteTable), "interrupted: the table has what was measured until then")
}

// TestPage: the page has the tables and plots, shows texts of others as they are, and loads nothing.
func TestPage(t *testing.T) {
	page := text(t, ladder().WriteHTML)
	for _, want := range []string{
		"<h1>Ladder of &lt;b&gt;127.0.0.1:8081&lt;/b&gt;</h1>", `<tr class="acceptable"><td>15,000</td>`, "<td>4.95ms</td>",
		`<th scope="row">limit</th><td>15,000 requests a second`, `<th scope="row">-for</th><td class="long">10s</td>`,
		`<td class="long">&lt;script&gt;alert(1)&lt;/script&gt; | late</td>`, "</html>\n",
		">target<", ">actual<", ">limit<", ">breaking point<", ">10k<", ">P50<", ">P95<", ">P99<",
		">excellent below 10ms<", ">acceptable below 150ms<", ">failed<", ">breaking above 1 %<",
	} {
		require.Contains(t, page, want)
	}
	require.Equal(t, 3, strings.Count(page, "<svg"))
	for _, none := range []string{"<script", "<link", "<img", "<iframe", " src=", " href=", "url(", "@import"} {
		require.NotContains(t, page, none)
	}
	require.Contains(t, text(t, New(nil).WriteHTML), "No step was measured.")
}

// TestPlots draws ladders of all kinds as well-formed XML, without a number that is
// none.
func TestPlots(t *testing.T) {
	for name, r := range map[string]*Report{
		"whole": ladder(), "one step": with(100, 0, time.Millisecond), "no success": with(100, 1000, 0), "slow": with(100, 0, 30*time.Second),
	} {
		figures, err := r.figures()
		require.NoError(t, err, name)
		require.Len(t, figures, 3)
		for _, svg := range figures {
			require.NotContains(t, svg, "NaN")
			require.NotContains(t, svg, "Inf")
			d := xml.NewDecoder(strings.NewReader(string(svg)))
			for err = nil; err == nil; {
				_, err = d.Token()
			}
			require.ErrorIs(t, err, io.EOF)
		}
	}
}

func with(rate int, failures int64, highest time.Duration) *Report {
	r := New(nil)
	r.Add(rate, result(rate, failures, highest))
	return r
}

// TestFullDisk: what cannot be written is an error.
func TestFullDisk(t *testing.T) {
	r := ladder()
	for _, write := range []func(io.Writer) error{r.WriteTable, r.WriteJSON, r.WriteHTML} {
		require.ErrorIs(t, write(full{}), errFull)
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "-", 1: "1ns", 1_234_567: "1.23ms", 12_345_678: "12.3ms", 123_456_789: "123ms", 1_234_567_890: "1.23s",
	} {
		require.Equal(t, want, duration(d))
	}
}
