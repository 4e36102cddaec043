// Package plot makes charts of what a report holds: percentile curves, and throughput and
// latency over a setting that was varied. It measures and computes nothing.
package plot

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	gonum "gonum.org/v1/plot"

	"github.com/redislanes/redislanes/bench/chart"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

// A Figure is a chart, and the name by which pages ask for it.
type Figure struct {
	Name string
	chart.Chart
}

// All returns all figures of a report.
func All(r *report.Report) []Figure {
	all := over(r)
	for i, run := range r.Runs {
		for _, f := range []struct {
			name, title string
			chart.Panel
		}{
			{"percentiles", "Latency by percentile", percentiles(run)},
			{"connections", "Connections over time, last round", connections(run)},
		} {
			if anyPoints(f.Lines) {
				name := fmt.Sprintf("run-%02d-%s-%s", i+1, slug(run.Name), f.name)
				all = append(all, Figure{name, chart.Chart{Title: f.title + ": " + run.Title(), Panels: []chart.Panel{f.Panel}}})
			}
		}
	}
	return all
}

func anyPoints(lines []chart.Line) bool {
	return slices.ContainsFunc(lines, func(l chart.Line) bool { return len(l.Points) > 0 })
}

// SVG draws the figure of a name.
func SVG(r *report.Report, name string) ([]byte, error) {
	var names []string
	for _, f := range All(r) {
		if f.Name == name {
			return f.SVG()
		}
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("no figure %q: there are %q", name, names)
}

var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// slug makes a text part of a name.
func slug(text string) string {
	text = strings.Trim(unsafeInNames.ReplaceAllString(text, "-"), "-")
	return text[:min(len(text), 80)]
}

// A row is one endpoint in one phase.
type row struct {
	name  string
	phase *report.Phase
}

// rows returns those in which a request came to an end.
func rows(run *report.Run) (all []row) {
	for _, e := range run.Endpoints {
		for _, p := range e.Phases {
			if p.Requests+p.Failed() > 0 {
				all = append(all, row{e.RowName(p), p})
			}
		}
	}
	return all
}

// nines places a percentage so that each further nine takes as much room.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }

// percentiles is a curve of latencies for each endpoint.
func percentiles(run *report.Run) chart.Panel {
	p := chart.Panel{Title: "latency (logarithmic)", X: chart.Axis{Label: "percentile of requests (each nine takes the same room)"}, Y: chart.Latency}
	for _, percent := range []float64{0, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999} {
		p.X.Ticks = append(p.X.Ticks, gonum.Tick{Value: nines(percent), Label: fmt.Sprintf("P%v", percent)})
	}
	p.X.Ticks[0].Label = ""
	var percents []float64
	for x := 0.0; x <= 5; x += 0.025 {
		percents = append(percents, 100*(1-math.Pow(10, -x)))
	}
	for _, r := range rows(run) {
		l := chart.Line{Name: r.name, Style: chart.Plain}
		if share := 100 * r.phase.FailedShare(); share >= 0.1 {
			l.Name += fmt.Sprintf(", %.3g %% failed", share)
		}
		at, latency := r.phase.Curve(percents)
		for i := range at {
			l.Points = append(l.Points, chart.Point{X: nines(at[i]), Y: ms(latency[i])})
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// connections is how many were open while the load changed in steps.
func connections(run *report.Run) chart.Panel {
	p := chart.Panel{Title: "connections open, all nodes together", X: chart.Axis{Label: "time since the turn began (s)"}}
	for _, e := range run.Endpoints {
		if len(e.Phases) < 2 {
			return chart.Panel{} // the load has no steps
		}
		l := chart.Line{Name: e.Name, Style: chart.Steps}
		for _, phase := range e.Phases {
			for _, s := range phase.Samples {
				l.Points = append(l.Points, chart.Point{X: s.At.Seconds(), Y: float64(s.Open)})
			}
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// ms is a latency on its axis, which is logarithmic.
func ms(d time.Duration) float64 { return max(float64(d)/float64(time.Millisecond), 0.001) }
