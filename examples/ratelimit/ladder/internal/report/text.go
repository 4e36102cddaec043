package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/bench/table"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// Parts are what the CPU of a step is told of, in the order of the tables.
var Parts = []string{"driver", "service", "Redis"}

// heads are the columns of a step, and cells what they have.
var heads = []string{
	"target/s", "actual/s", "over limit", "failed", "average", "P50", "P95", "P99", "sent late P99", "CPU: driver", "service", "Redis", "verdict",
}

func cells(s *verdict.Step) []string {
	row := []string{fmt.Sprint(s.Target), fmt.Sprintf("%.0f", s.Actual), percent(overLimit(s)), percent(s.FailureShare())}
	for _, d := range []time.Duration{s.Latency.Mean, s.Latency.P50, s.Latency.P95, s.Latency.P99, s.Late.P99} {
		row = append(row, duration(d))
	}
	return append(append(row, cores(s)...), string(s.Verdict))
}

// cores says how many processors each part has used; of one that is not known, a dash.
func cores(s *verdict.Step) (all []string) {
	for _, part := range Parts {
		text := "-"
		if used, known := s.CPU[part]; known {
			text = fmt.Sprintf("%.2f", used)
		}
		all = append(all, text)
	}
	return all
}

// steps returns the figures of all steps.
func (r *Report) steps() *table.Table {
	t := &table.Table{Head: heads}
	for i := range r.Steps {
		t.Add(cells(&r.Steps[i])...)
	}
	return t
}

// failures returns the failures of all steps by kind.
func (r *Report) failures() *table.Table {
	t := &table.Table{Head: []string{"target/s", "failures", "kind", "text of the first one"}, Last: true}
	for _, s := range r.Steps {
		for _, kind := range slices.Sorted(maps.Keys(s.FailureKinds)) {
			f := s.FailureKinds[kind]
			t.Add(fmt.Sprint(s.Target), fmt.Sprint(f.Count), kind, strings.Join(strings.Fields(f.Example), " "))
		}
	}
	return t
}

// WriteTable writes the ladder as a table in Markdown, the summary, and what went
// wrong.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	m := &r.Machine
	fmt.Fprintf(&b, "%s, driver on %s/%s, %d CPUs %s, %s\n\n%s\n", m.Date.Format(time.DateTime+" MST"), m.OS, m.Arch, m.CPUs, m.CPU, m.Go, r.steps())
	for _, line := range r.lines() {
		fmt.Fprintf(&b, "%-20s %s\n", line[0]+":", line[1])
	}
	if failures := r.failures(); len(failures.Rows) > 0 {
		fmt.Fprintf(&b, "\nFailures, which count neither for the actual rate nor for latencies:\n\n%s", failures)
	}
	if r.Interrupted {
		b.WriteString("\ninterrupted: the table has what was measured until then\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func percent(share float64) string { return fmt.Sprintf("%.2f %%", share*100) }

// overLimit returns the share of the successes that were over a limit.
func overLimit(s *verdict.Step) float64 { return float64(s.OverLimit) / float64(max(1, s.Successes)) }

// duration rounds to three digits; what was not measured is a dash.
func duration(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return table.Duration(d)
}
