package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/bench/table"
	judged "github.com/redislanes/redislanes/bench/verdict"

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

// lines says the summary in words: names and texts.
func (r *Report) lines() [][2]string {
	s := r.Summary
	recommended, limit, breaking := "none", "none: not even the lowest step held", "not reached"
	switch {
	case s.Limit > 0:
		recommended = fmt.Sprintf("%d requests a second, %.0f %% of the limit", s.Recommended, judged.RecommendedShare*100)
		limit = fmt.Sprintf("%d requests a second, the highest step that held", s.Limit)
		if step := r.step(s.Limit); step != nil {
			limit += fmt.Sprintf(" (%s, P99 %s)", step.Verdict, duration(step.Latency.P99))
		}
	case s.Inconclusive > 0:
		limit = "inconclusive: the driver had too little CPU"
	case s.Breaking == 0:
		limit = "none: no step was finished"
	}
	if step := r.step(s.Breaking); step != nil {
		breaking = fmt.Sprintf("%d requests a second: %s", s.Breaking, step.Why)
	} else if s.Inconclusive > 0 {
		breaking = fmt.Sprintf("inconclusive from %d requests a second on: the driver had too little CPU", s.Inconclusive)
	}
	return append([][2]string{{"recommended maximum", recommended}, {"limit", limit}, {"breaking point", breaking}}, r.notes()...)
}

// step returns the first finished step with the target; nil if there is none.
func (r *Report) step(target int) *verdict.Step {
	for i, s := range r.Steps {
		if s.Target == target && s.Verdict != verdict.Interrupted && s.Verdict != verdict.Inconclusive {
			return &r.Steps[i]
		}
	}
	return nil
}

// mostOverLimit is the share of decisions that a service may make without Redis
// and still be said to be measured with it.
const mostOverLimit = 0.05

// notes says what makes the figures worth less than they seem.
func (r *Report) notes() (lines [][2]string) {
	if above := r.Summary.HeldAbove; above > 0 {
		lines = append(lines, [2]string{"note", fmt.Sprint(above) + " requests a second held although a lower rate did not: " +
			"the machine was disturbed, or the rates are at the limit; measure again"})
	}
	for _, n := range []struct {
		format string
		of     func(*verdict.Step) bool
	}{
		{"inconclusive at %s requests a second: the driver had too little CPU to send in time; the service may be faster than this. " +
			"Run the driver on another machine", func(s *verdict.Step) bool { return s.Verdict == verdict.Inconclusive }},
		{"at %s requests a second the driver sent late, which is in the latencies", func(s *verdict.Step) bool {
			return s.Verdict != verdict.Inconclusive && s.Late.P99 > verdict.MostLate
		}},
		{"at %s requests a second more than 5 %% were over a limit, which a service may know without Redis: use more keys, or higher limits",
			func(s *verdict.Step) bool { return overLimit(s) > mostOverLimit }},
	} {
		var at []string
		for i := range r.Steps {
			if s := &r.Steps[i]; n.of(s) {
				at = append(at, fmt.Sprint(s.Target))
			}
		}
		if at != nil {
			lines = append(lines, [2]string{"note", fmt.Sprintf(n.format, strings.Join(at, ", "))})
		}
	}
	return lines
}
