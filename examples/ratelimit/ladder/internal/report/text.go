package report

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// A table has a head and rows, in the text and on the page.
type table struct {
	Head []string
	Rows [][]string
}

// steps returns the figures of all steps.
func (r *Report) steps() table {
	t := table{Head: []string{"target/s", "actual/s", "successes", "over limit", "failures", "failed", "average", "P50", "P95", "P99", "sent late P99", "verdict"}}
	for _, s := range r.Steps {
		t.Rows = append(t.Rows, []string{
			number(s.Target), number(s.Actual), number(s.Successes), percent(overLimit(&s)), number(s.Failures), percent(s.FailureShare()),
			duration(s.Latency.Mean), duration(s.Latency.P50), duration(s.Latency.P95), duration(s.Latency.P99), duration(s.Late.P99), string(s.Verdict),
		})
	}
	return t
}

// failures returns the failures of all steps by kind.
func (r *Report) failures() table {
	t := table{Head: []string{"target/s", "failures", "kind", "text of the first one"}}
	for _, s := range r.Steps {
		for _, kind := range slices.Sorted(maps.Keys(s.FailureKinds)) {
			f := s.FailureKinds[kind]
			t.Rows = append(t.Rows, []string{number(s.Target), number(f.Count), kind, f.Example})
		}
	}
	return t
}

// write writes the table in Markdown, with columns that line up in a terminal.
func (t table) write(w *strings.Builder) {
	var aligned bytes.Buffer
	lines := tabwriter.NewWriter(&aligned, 0, 0, 1, ' ', tabwriter.AlignRight|tabwriter.Debug)
	rule := slices.Repeat([]string{"--:"}, len(t.Head))
	for _, row := range slices.Concat([][]string{t.Head, rule}, t.Rows) {
		line := ""
		for _, cell := range row { // a text of others does not end its cell
			line += strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "\t", " ").Replace(cell) + " \t"
		}
		_, _ = fmt.Fprintln(lines, line)
	}
	_ = lines.Flush() // to memory
	for line := range strings.Lines(aligned.String()) {
		w.WriteString("|" + line)
	}
}

// WriteTable writes the ladder as a table in Markdown, the summary, and what went
// wrong.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.machine() + "\n\n")
	r.steps().write(&b)
	b.WriteString("\n")
	for _, line := range r.lines() {
		fmt.Fprintf(&b, "%-20s %s\n", line[0]+":", line[1])
	}
	if failures := r.failures(); len(failures.Rows) > 0 {
		b.WriteString("\nFailures, which count neither for the actual rate nor for latencies:\n\n")
		failures.write(&b)
	}
	if r.Interrupted {
		b.WriteString("\ninterrupted: the table has what was measured until then\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// machine says in a line where the driver ran.
func (r *Report) machine() string {
	m := &r.Machine
	return fmt.Sprintf("%s, driver on %s/%s, %d CPUs %s, %s", m.Date.Format(time.DateTime+" MST"), m.OS, m.Arch, m.CPUs, m.CPU, m.Go)
}

var english = message.NewPrinter(language.English)

// number writes a number without fractions, with commas between thousands.
func number[N int | int64 | float64](v N) string { return english.Sprintf("%.0f", float64(v)) }

func percent(share float64) string { return fmt.Sprintf("%.2f %%", share*100) }

// overLimit returns the share of the successes that were over a limit.
func overLimit(s *verdict.Step) float64 { return float64(s.OverLimit) / float64(max(1, s.Successes)) }

// duration rounds to three digits; what was not measured is a dash.
func duration(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	unit := math.Pow(10, math.Floor(math.Log10(float64(d)))-2)
	return d.Round(time.Duration(max(1, unit))).String()
}
