package report

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// A column is one figure of all steps, in the table and on the page.
type column struct {
	head string
	of   func(Step) string
}

var columns = []column{
	{"target/s", func(s Step) string { return number(float64(s.Target)) }},
	{"actual/s", func(s Step) string { return number(s.Actual) }},
	{"successes", func(s Step) string { return number(float64(s.Successes)) }},
	{"over limit", func(s Step) string { return percent(share(s.OverLimit, s.Successes)) }},
	{"failures", func(s Step) string { return number(float64(s.Failures)) }},
	{"failed", func(s Step) string { return percent(s.FailureShare) }},
	{"average", func(s Step) string { return duration(s.Latency.Mean) }},
	{"P50", func(s Step) string { return duration(s.Latency.P50) }},
	{"P95", func(s Step) string { return duration(s.Latency.P95) }},
	{"P99", func(s Step) string { return duration(s.Latency.P99) }},
	{"sent late P99", func(s Step) string { return duration(s.Late.P99) }},
	{"verdict", func(s Step) string { return string(s.Verdict) }},
}

func share(part, of int64) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

var english = message.NewPrinter(language.English)

// number writes a number without fractions, with commas between thousands.
func number(v float64) string { return english.Sprintf("%.0f", v) }

func percent(share float64) string { return fmt.Sprintf("%.2f %%", share*100) }

// duration rounds to three digits; what was not measured is a dash.
func duration(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	unit := math.Pow(10, math.Floor(math.Log10(float64(d)))-2)
	return d.Round(time.Duration(max(1, unit))).String()
}

// A Line is one line of the summary.
type Line struct{ Name, Text string }

// Lines says the summary in words.
func (r *Report) Lines() []Line {
	s := r.Summary
	lines := []Line{
		{"recommended maximum", "none"}, {"limit", "none: not even the lowest step held"}, {"breaking point", "not reached"},
	}
	if s.Limit > 0 {
		lines[0].Text = fmt.Sprintf("%s requests a second, %.0f %% of the limit", number(float64(s.Recommended)), verdict.RecommendedShare*100)
		lines[1].Text = fmt.Sprintf("%s requests a second, the highest step that held", number(float64(s.Limit)))
		if step := r.step(s.Limit); step != nil {
			lines[1].Text += fmt.Sprintf(" (%s, P99 %s)", step.Verdict, duration(step.Latency.P99))
		}
	} else if s.Inconclusive > 0 {
		lines[1].Text = "inconclusive: the driver had too little CPU"
	} else if s.Breaking == 0 {
		lines[1].Text = "none: no step was finished"
	}
	if step := r.step(s.Breaking); step != nil {
		lines[2].Text = fmt.Sprintf("%s requests a second: %s", number(float64(s.Breaking)), step.Why)
	} else if s.Inconclusive > 0 {
		lines[2].Text = fmt.Sprintf("inconclusive from %s requests a second on: the driver had too little CPU", number(float64(s.Inconclusive)))
	}
	return append(lines, r.notes()...)
}

// step returns the first finished step with the target; nil if there is none.
func (r *Report) step(target int) *Step {
	for i, s := range r.Steps {
		if s.Target == target && s.Verdict != verdict.Interrupted && s.Verdict != verdict.Inconclusive {
			return &r.Steps[i]
		}
	}
	return nil
}
