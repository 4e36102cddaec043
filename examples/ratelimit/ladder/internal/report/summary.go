package report

import (
	"fmt"
	"strings"

	judged "github.com/redislanes/redislanes/bench/verdict"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

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
