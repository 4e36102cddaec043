package report

import (
	"fmt"
	"strings"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// What notes go by.
const (
	// mostOverLimit is the share of decisions that a service may make without Redis
	// and still be said to be measured with it.
	mostOverLimit = 0.05
)

// notes says what makes the figures worth less than they seem.
func (r *Report) notes() (lines []Line) {
	if above := r.Summary.HeldAbove; above > 0 {
		lines = append(lines, Line{"note", fmt.Sprintf("%s requests a second held although a lower rate did not: "+
			"the machine was disturbed, or the rates are at the limit; measure again", number(float64(above)))})
	}
	if at := r.targets(Step.inconclusive); at != "" {
		lines = append(lines, Line{"note", "inconclusive at " + at + " requests a second: the driver had too little CPU to send in time; " +
			"the service may be faster than this. Run the driver on another machine"})
	}
	if at := r.targets(Step.sentLate); at != "" {
		lines = append(lines, Line{"note", "at " + at + " requests a second the driver sent late, which is in the latencies"})
	}
	if at := r.targets(Step.mostlyDenied); at != "" {
		lines = append(lines, Line{"note", fmt.Sprintf("at %s requests a second more than %.0f %% were over a limit, "+
			"which a service may know without Redis: use more keys, or higher limits", at, mostOverLimit*100)})
	}
	return lines
}

// sentLate reports whether the driver was late, though not so late that most of the latency
// is its own.
func (s Step) sentLate() bool { return !s.inconclusive() && s.Late.P99 > verdict.MostLate }

func (s Step) inconclusive() bool { return s.Verdict == verdict.Inconclusive }

func (s Step) mostlyDenied() bool { return share(s.OverLimit, s.Successes) > mostOverLimit }

// targets returns those of the steps that a condition holds for.
func (r *Report) targets(of func(Step) bool) string {
	var all []string
	for _, s := range r.Steps {
		if of(s) {
			all = append(all, number(float64(s.Target)))
		}
	}
	return strings.Join(all, ", ")
}
