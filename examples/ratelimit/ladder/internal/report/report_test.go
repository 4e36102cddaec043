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
	"golang.org/x/net/html"

	"github.com/redislanes/redislanes/internal/leak"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

func TestMain(m *testing.M) { leak.Main(m) }

// result returns the result of ten seconds at a rate, of which so many requests
// fail. Latencies are from 1 % to 100 % of the highest one.
func result(rate int, failures int64, highest time.Duration) *load.Result {
	r := &load.Result{
		Successes: int64(rate)*10 - failures, Took: 10 * time.Second, Replying: 10 * time.Second, MostOutstanding: 7,
		Failures: make(map[string]load.Failure),
		Latency:  hdrhistogram.New(1, time.Minute.Nanoseconds(), 3), Late: hdrhistogram.New(1, time.Minute.Nanoseconds(), 3),
	}
	r.Answered, r.Denied = r.Successes, r.Successes/4
	if failures > 0 {
		r.Failures["DeadlineExceeded"] = load.Failure{Count: failures, Example: "<script>alert(1)</script> | late"}
	}
	for i := int64(1); i <= 100 && r.Successes > 0; i++ {
		_ = r.Latency.RecordValues(i*highest.Nanoseconds()/100, r.Successes/100)
		_ = r.Late.RecordValues(i*1000, r.Successes/100)
	}
	return r
}

// ladder is a report with a limit and a breaking point.
func ladder() *Report {
	r := New([]Setting{{"for", "10s"}, {"target", "<b>127.0.0.1:8081</b>"}})
	r.Add(10_000, result(10_000, 0, 5*time.Millisecond))
	r.Add(12_500, result(12_500, 125, 40*time.Millisecond))
	r.Add(17_500, result(17_500, 30_000, 900*time.Millisecond))
	r.Add(15_000, result(15_000, 150, 120*time.Millisecond))
	return r
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
	require.InEpsilon(t, 2.5e6, float64(first.P50), 0.002)
	require.InEpsilon(t, 4.95e6, float64(first.P99), 0.002)
	require.InEpsilon(t, 5e6, float64(first.Max), 0.002)
	require.InEpsilon(t, 2.525e6, float64(first.Mean), 0.002)
	require.InDelta(t, 100, first.Brackets[len(first.Brackets)-1].Percent, 1e-9)
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, ladder().WriteTable(&b))
	for _, want := range []string{
		"| target/s | actual/s | successes | over limit | failures |  failed | average |",
		"|   10,000 |   10,000 |   100,000 |    25.00 % |        0 |  0.00 % |",
		"| 4.95ms | ", "| excellent  |", "| breaking   |",
		"recommended maximum: 12,000 requests a second, 80 % of the limit\n",
		"limit:               15,000 requests a second, the highest step that held (acceptable, P99 119ms)\n",
		"breaking point:      17,500 requests a second: 17.14 % of the requests failed, more than 1 %\n",
		`| DeadlineExceeded | <script>alert(1)</script> \| late |`,
	} {
		require.Contains(t, b.String(), want)
	}
	require.NotContains(t, b.String(), "interrupted")
	width := 0
	for line := range strings.Lines(b.String()) { // all lines of the first table are as wide
		if !strings.HasPrefix(line, "|") {
			if width > 0 {
				break
			}
			continue
		}
		if width > 0 {
			require.Equal(t, width, utf8.RuneCountInString(line), line)
		}
		width = utf8.RuneCountInString(line)
	}
	require.Positive(t, width)
}

func TestLines(t *testing.T) {
	lines := func(rates map[int]int64) string {
		r := New(nil)
		for rate, failures := range rates {
			r.Add(rate, result(rate, failures, time.Millisecond))
		}
		var b bytes.Buffer
		require.NoError(t, r.WriteTable(&b))
		return b.String()
	}
	none := lines(nil)
	require.Contains(t, none, "recommended maximum: none\n")
	require.Contains(t, none, "none: no step was finished")
	require.Contains(t, none, "breaking point:      not reached\n")
	require.Contains(t, lines(map[int]int64{100: 1000}), "none: not even the lowest step held")
	require.Contains(t, lines(map[int]int64{100: 0, 200: 2000, 300: 0}), "note:                300 requests a second held although a lower rate did not")
}

// TestInconclusive: a driver that lacks CPU says nothing of the service.
func TestInconclusive(t *testing.T) {
	r := New([]Setting{{"target", "127.0.0.1:8081"}})
	r.Add(1000, result(1000, 0, time.Millisecond))
	late := result(2000, 4000, 500*time.Millisecond)
	require.NoError(t, late.Late.RecordValues(int64(400*time.Millisecond), 10_000))
	r.Add(2000, late)
	require.Equal(t, verdict.Inconclusive, r.Steps[1].Verdict)
	require.Empty(t, r.Steps[1].Why)
	require.Equal(t, verdict.Summary{Recommended: 800, Limit: 1000, Inconclusive: 2000}, r.Summary)
	var b bytes.Buffer
	require.NoError(t, r.WriteTable(&b))
	require.Contains(t, b.String(), "breaking point:      inconclusive from 2,000 requests a second on: the driver had too little CPU\n")
	b.Reset()
	require.NoError(t, r.WriteHTML(&b))
	require.Contains(t, b.String(), "<h1>Ladder of 127.0.0.1:8081</h1>")
	require.Contains(t, b.String(), `<tr class="inconclusive">`)
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
		var all []string
		for _, line := range r.Lines()[3:] {
			require.Equal(t, "note", line.Name)
			all = append(all, line.Text)
		}
		return strings.Join(all, "\n")
	}
	const ms = time.Millisecond
	require.Empty(t, notes(2*ms, 3*ms, 500))
	require.Empty(t, notes(9*ms, 40*ms, 0))
	require.Contains(t, notes(9*ms, 15*ms, 0), "inconclusive at 1,000 requests a second: the driver had too little CPU")
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
	var b bytes.Buffer
	require.NoError(t, r.WriteTable(&b))
	require.Contains(t, b.String(), "interrupted: the table has what was measured until then")
}

func TestJSON(t *testing.T) {
	r := ladder()
	var b bytes.Buffer
	require.NoError(t, r.WriteJSON(&b))
	var back Report
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	require.Equal(t, r.Summary, back.Summary)
	require.Equal(t, r.Steps[3].Latency, back.Steps[3].Latency)
	var again bytes.Buffer
	require.NoError(t, back.WriteJSON(&again))
	require.Equal(t, b.String(), again.String())
	require.Contains(t, b.String(), `"p99": `)
}

// elements returns all elements with the name below a node.
func elements(n *html.Node, name string) (all []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == name {
			all = append(all, d)
		}
	}
	return all
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// table returns the texts of the cells of the table with the id.
func table(t *testing.T, page *html.Node, id string) (rows [][]string) {
	t.Helper()
	for _, n := range elements(page, "table") {
		for _, a := range n.Attr {
			if a.Key != "id" || a.Val != id {
				continue
			}
			for _, tr := range elements(n, "tr") {
				var row []string
				for d := range tr.Descendants() {
					if d.Data == "td" || d.Data == "th" {
						row = append(row, text(d))
					}
				}
				rows = append(rows, row)
			}
		}
	}
	require.NotEmpty(t, rows, id)
	return rows
}

func TestPage(t *testing.T) {
	var b bytes.Buffer
	r := ladder()
	require.NoError(t, r.WriteHTML(&b))
	page, err := html.Parse(&b)
	require.NoError(t, err)

	steps := table(t, page, "steps")
	require.Len(t, steps, 5)
	for i, c := range columns {
		require.Equal(t, c.head, steps[0][i])
		for j, s := range r.Steps {
			require.Equal(t, c.of(s), steps[j+1][i])
		}
	}
	require.Equal(t, []string{"limit", r.Lines()[1].Text}, table(t, page, "summary")[1])
	require.Equal(t, []string{"-target", "<b>127.0.0.1:8081</b>"}, table(t, page, "settings")[1])
	require.Equal(t, "<script>alert(1)</script> | late", table(t, page, "failures")[1][3])
	require.Len(t, elements(page, "svg"), 3)
	require.Contains(t, text(page), r.Machine.String())
}

// TestSelfContained: the page loads and runs nothing.
func TestSelfContained(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, ladder().WriteHTML(&b))
	page, err := html.Parse(&b)
	require.NoError(t, err)
	for _, name := range []string{"script", "link", "img", "image", "iframe", "object", "embed"} {
		require.Empty(t, elements(page, name), name)
	}
	for n := range page.Descendants() {
		for _, a := range n.Attr {
			require.NotContains(t, []string{"src", "href"}, a.Key)
			require.NotContains(t, a.Val, "url(")
		}
	}
	require.NotContains(t, text(elements(page, "style")[0]), "@import")
}

// TestPlots draws ladders of all kinds as well-formed XML, without a number that is
// none.
func TestPlots(t *testing.T) {
	one := New(nil)
	one.Add(100, result(100, 0, time.Millisecond))
	dead := New(nil)
	dead.Add(100, result(100, 1000, 0))
	dead.Add(200, result(200, 2000, 0))
	slow := New(nil)
	slow.Add(100, result(100, 0, 30*time.Second))
	for name, r := range map[string]*Report{"whole": ladder(), "one step": one, "no success": dead, "slow": slow} {
		t.Run(name, func(t *testing.T) {
			figures, err := r.figures()
			require.NoError(t, err)
			require.Len(t, figures, 3)
			for _, f := range figures {
				require.NotContains(t, f.SVG, "NaN")
				require.NotContains(t, f.SVG, "Inf")
				d := xml.NewDecoder(strings.NewReader(string(f.SVG)))
				for err = nil; err == nil; {
					_, err = d.Token()
				}
				require.ErrorIs(t, err, io.EOF)
			}
		})
	}
	figures, err := New(nil).figures()
	require.NoError(t, err)
	require.Empty(t, figures)
	require.NoError(t, New(nil).WriteHTML(io.Discard))
}

// TestLegends: the plots name what they show.
func TestLegends(t *testing.T) {
	figures, err := ladder().figures()
	require.NoError(t, err)
	for i, names := range [][]string{
		{"target", "actual", "limit", "breaking point", "10,000"},
		{"P50", "average", "P95", "P99", "excellent below 10 ms", "good below 50 ms", "acceptable below 150 ms"},
		{"failed", "breaking above 1 %"},
	} {
		for _, name := range names {
			require.Contains(t, figures[i].SVG, ">"+name+"<")
		}
	}
}

// TestFullDisk: what cannot be written is an error.
func TestFullDisk(t *testing.T) {
	for _, write := range []func(*Report, io.Writer) error{(*Report).WriteTable, (*Report).WriteJSON, (*Report).WriteHTML} {
		require.ErrorIs(t, write(ladder(), full{}), errFull)
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
