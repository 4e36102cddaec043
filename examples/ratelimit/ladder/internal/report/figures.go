package report

import (
	"fmt"
	"html/template"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// A figure is a plot of the page.
type figure struct {
	Title string
	SVG   template.HTML
}

// figures draws all plots; none without steps.
func (r *Report) figures() (all []figure, err error) {
	if len(r.Steps) == 0 {
		return nil, nil
	}
	for _, f := range []struct {
		title string
		draw  func(*canvas) error
	}{
		{"Actual rate by target", r.drawRates},
		{"Latency by target", r.drawLatencies},
		{"Share of requests that failed by target", r.drawFailures},
	} {
		c := newCanvas("target (requests a second)", float64(r.Steps[0].Target), float64(r.Steps[len(r.Steps)-1].Target))
		if err := f.draw(c); err != nil {
			return nil, err
		}
		all = append(all, figure{f.title, c.svg()})
	}
	return all, nil
}

// points returns a figure of all steps that have it.
func (r *Report) points(of func(Step) (y float64, ok bool)) (points plotter.XYs) {
	for _, s := range r.Steps {
		if y, ok := of(s); ok {
			points = append(points, plotter.XY{X: float64(s.Target), Y: y})
		}
	}
	return points
}

func (r *Report) drawRates(c *canvas) error {
	c.plot.Y.Label.Text = "successes a second"
	c.plot.X.Tick.Marker, c.plot.Y.Tick.Marker = numberTicks{}, numberTicks{}
	target := r.points(func(s Step) (float64, bool) { return float64(s.Target), true })
	if err := c.dashed("target", target, palette[6]); err != nil {
		return err
	}
	if err := c.line("actual", r.points(func(s Step) (float64, bool) { return s.Actual, true }), palette[0]); err != nil {
		return err
	}
	c.plot.Y.Min = 0
	return r.mark(c)
}

// mark draws the limit and the breaking point as vertical lines.
func (r *Report) mark(c *canvas) error {
	for _, m := range []struct {
		name  string
		at    int
		color int
	}{{"limit", r.Summary.Limit, 2}, {"breaking point", r.Summary.Breaking, 3}} {
		if m.at == 0 {
			continue
		}
		x := float64(m.at)
		if err := c.dashed(m.name, plotter.XYs{{X: x, Y: c.plot.Y.Min}, {X: x, Y: c.plot.Y.Max}}, palette[m.color]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) drawLatencies(c *canvas) error {
	c.plot.Y.Label.Text = "latency (logarithmic)"
	c.plot.X.Tick.Marker = numberTicks{}
	for _, line := range []struct {
		name  string
		color int
		of    func(Distribution) time.Duration
	}{
		{"P99", 3, func(d Distribution) time.Duration { return d.P99 }},
		{"P95", 1, func(d Distribution) time.Duration { return d.P95 }},
		{"average", 5, func(d Distribution) time.Duration { return d.Mean }},
		{"P50", 0, func(d Distribution) time.Duration { return d.P50 }},
	} {
		points := r.points(func(s Step) (float64, bool) { return ms(line.of(s.Latency)), s.Latency.Count > 0 })
		if len(points) == 0 {
			continue
		}
		if err := c.line(line.name, points, palette[line.color]); err != nil {
			return err
		}
	}
	logAxis(&c.plot.Y)
	for _, b := range verdict.Bands {
		at := ms(b.Below)
		if at < c.plot.Y.Min || at > c.plot.Y.Max {
			continue
		}
		if err := c.threshold(string(b.Verdict)+" below "+msText(at), at); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) drawFailures(c *canvas) error {
	c.plot.Y.Label.Text = "failed (%)"
	c.plot.X.Tick.Marker = numberTicks{}
	if err := c.line("failed", r.points(func(s Step) (float64, bool) { return s.FailureShare * 100, true }), palette[3]); err != nil {
		return err
	}
	const bound = verdict.MostFailures * 100
	c.plot.Y.Min, c.plot.Y.Max = 0, max(2*bound, c.plot.Y.Max)
	return c.threshold(fmt.Sprintf("breaking above %.0f %%", bound), bound)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
