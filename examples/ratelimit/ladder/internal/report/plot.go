package report

import (
	"errors"
	"io"
	"time"

	"github.com/redislanes/redislanes/bench/chart"
	judged "github.com/redislanes/redislanes/bench/verdict"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// WritePlot draws rates, latencies and failures by target, as SVG.
func (r *Report) WritePlot(w io.Writer) error {
	if len(r.Steps) == 0 {
		return errors.New("no step was measured")
	}
	low, high := float64(r.Steps[0].Target), float64(r.Steps[len(r.Steps)-1].Target)
	over := chart.Axis{Label: "target (requests a second)"}
	for _, s := range r.Steps {
		over.Add(float64(s.Target), chart.Number(float64(s.Target)))
	}
	level := func(name string, y float64) chart.Line {
		return chart.Line{Name: name, Style: chart.Plain, Points: []chart.Point{{X: low, Y: y}, {X: high, Y: y}}}
	}
	rates := []chart.Line{
		{Name: "target", Style: chart.Plain, Points: []chart.Point{{X: low, Y: low}, {X: high, Y: high}}},
		r.line("actual", func(s *verdict.Step) float64 { return s.Actual }),
	}
	for i, at := range []int{r.Summary.Limit, r.Summary.Breaking} {
		if x := float64(at); at > 0 {
			rates = append(rates, chart.Line{Name: []string{"limit", "breaking point"}[i], Style: chart.Plain, Points: []chart.Point{{X: x}, {X: x, Y: high}}})
		}
	}
	latencies := []chart.Line{
		r.line("P99", func(s *verdict.Step) float64 { return ms(s.Latency.P99) }),
		r.line("P95", func(s *verdict.Step) float64 { return ms(s.Latency.P95) }),
		r.line("P50", func(s *verdict.Step) float64 { return ms(s.Latency.P50) }),
	}
	for _, b := range judged.Bands {
		latencies = append(latencies, level(string(b.Verdict)+" below "+b.Below.String(), ms(b.Below)))
	}
	failures := []chart.Line{
		r.line("failed", func(s *verdict.Step) float64 { return s.FailureShare() * 100 }), level("breaking above 1 %", judged.MostFailures*100),
	}
	c := chart.Chart{Title: "Ladder", Panels: []chart.Panel{
		{Title: "successes a second", X: over, Lines: rates},
		{Title: "latency of successes (logarithmic)", X: over, Y: chart.Latency, Lines: latencies},
		{Title: "failed (% of the requests)", X: over, Lines: failures},
	}}
	text, err := c.SVG()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// line has a point for each step. A step without a latency has none.
func (r *Report) line(name string, of func(*verdict.Step) float64) chart.Line {
	l := chart.Line{Name: name}
	for i := range r.Steps {
		s := &r.Steps[i]
		if y := of(s); y > 0 || s.Latency.Count > 0 {
			l.Points = append(l.Points, chart.Point{X: float64(s.Target), Y: y})
		}
	}
	return l
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
