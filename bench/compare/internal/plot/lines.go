package plot

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/verdict"
)

// A series is phases over a number.
type series struct {
	name   string
	points []point
}

type point struct {
	at    float64
	phase *report.Phase
}

// An axis is the numbers that all series of a figure are over.
type axis struct {
	label string
	at    []float64
	text  []string
}

func (a *axis) add(at float64, text string) {
	if !slices.Contains(a.at, at) {
		a.at, a.text = append(a.at, at), append(a.text, text)
	}
}

var failedColor = palette[3]

// lines draws throughput, latency and, where requests failed, their share side by
// side.
func lines(f *figure, over axis, all []series) (*figure, error) {
	rates := newPlot("throughput", over.label, "requests per second that succeeded")
	times := newPlot("latency of successes: P50 as lines, P99 as dotted lines", over.label, "latency (logarithmic)")
	failed := newPlot("failures", over.label, "requests that failed (%)")
	f.panels, f.legend = []*plot.Plot{rates, times}, newLegend()
	anyFailed := false
	for i, s := range all {
		rate, p50, p99, failures := s.curves()
		line, err := curve(rates, rate, i, false)
		if err != nil {
			return nil, err
		}
		f.legend.Add(s.name, line)
		for _, c := range []struct {
			of     *plot.Plot
			points plotter.XYs
			dotted bool
		}{{times, p50, false}, {times, p99, true}, {failed, failures, false}} {
			if len(c.points) == 0 {
				continue
			}
			if _, err := curve(c.of, c.points, i, c.dotted); err != nil {
				return nil, err
			}
		}
		anyFailed = anyFailed || s.failed()
	}
	if anyFailed {
		f.panels = append(f.panels, failed)
		failed.Y.Min, failed.Y.Max = 0, max(failed.Y.Max, 2*100*verdict.MostFailures)
		if err := f.cross(times, all); err != nil {
			return nil, err
		}
	}
	for _, p := range f.panels {
		over.mark(p)
	}
	rates.Y.Min, rates.Y.Tick.Marker = 0, rateTicks{}
	logAxis(&times.Y)
	return f, nil
}

func (s series) failed() bool {
	return slices.ContainsFunc(s.points, func(p point) bool { return p.phase.Failed > 0 })
}

// curves are the series' points; what did not succeed at all has no latency.
func (s series) curves() (rate, p50, p99, failed plotter.XYs) {
	for _, p := range s.points {
		rate = append(rate, plotter.XY{X: p.at, Y: p.phase.Rate})
		failed = append(failed, plotter.XY{X: p.at, Y: 100 * p.phase.FailedShare()})
		if p.phase.Requests > 0 {
			p50 = append(p50, plotter.XY{X: p.at, Y: max(ms(p.phase.Latency.At(50)), 0.001)})
			p99 = append(p99, plotter.XY{X: p.at, Y: max(ms(p.phase.Latency.At(99)), 0.001)})
		}
	}
	return rate, p50, p99, failed
}

// cross marks latencies that are those of the few requests that did not fail.
func (f *figure) cross(times *plot.Plot, all []series) error {
	var points plotter.XYs
	for _, s := range all {
		for _, p := range s.points {
			if p.phase.Requests > 0 && p.phase.FailedShare() > verdict.MostFailures {
				points = append(points, plotter.XY{X: p.at, Y: max(ms(p.phase.Latency.At(50)), 0.001)},
					plotter.XY{X: p.at, Y: max(ms(p.phase.Latency.At(99)), 0.001)})
			}
		}
	}
	if len(points) == 0 {
		return nil
	}
	crosses, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	crosses.GlyphStyle = draw.GlyphStyle{Color: color.Black, Radius: vg.Points(4.5), Shape: draw.CrossGlyph{}}
	times.Add(crosses)
	f.legend.Add(fmt.Sprintf("over %.0f %% failed", 100*verdict.MostFailures), crosses)
	return nil
}

func curve(p *plot.Plot, points plotter.XYs, i int, dotted bool) (*plotter.Line, error) {
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, err
	}
	line.LineStyle = lineStyle(i)
	if dotted {
		line.Width, line.Dashes = vg.Points(1), []vg.Length{vg.Points(1.5), vg.Points(2)}
	}
	dots.Shape, dots.Color, dots.Radius = shapes[0], line.Color, vg.Points(2.5)
	p.Add(line, dots)
	return line, nil
}

// wide is how many times the least the largest number is, from which on an axis is
// logarithmic.
const wide = 8

// mark puts a tick at each number, with a label as far as there is room.
func (a axis) mark(p *plot.Plot) {
	if low, high := slices.Min(a.at), slices.Max(a.at); low > 0 && high/low >= wide {
		p.X.Scale = plot.LogScale{}
		p.X.Label.Text += " (logarithmic)"
	}
	p.X.Tick.Marker = spacedTicks{a, p.X.Scale, p.X.Tick.Label}
}

// spacedTicks are labelled where the labels do not overlap, from the left, the last
// one before all others.
type spacedTicks struct {
	axis  axis
	scale plot.Normalizer
	style draw.TextStyle
}

// Ticks is part of plot.Ticker.
func (t spacedTicks) Ticks(low, high float64) []plot.Tick {
	const room = panelWidth - 1.1*vg.Inch // what the other axis leaves
	var ticks []plot.Tick
	for i, at := range t.axis.at {
		ticks = append(ticks, plot.Tick{Value: at, Label: t.axis.text[i]})
	}
	slices.SortFunc(ticks, func(a, b plot.Tick) int { return int(max(-1, min(1, a.Value-b.Value))) })
	span := func(tick plot.Tick) (left, right vg.Length) {
		middle := vg.Length(t.scale.Normalize(low, high, tick.Value)) * room
		half := t.style.Width(tick.Label)/2 + vg.Points(3)
		return middle - half, middle + half
	}
	last := len(ticks) - 1
	lastLeft, _ := span(ticks[last])
	end := vg.Length(-1000)
	for i := range ticks[:last] {
		left, right := span(ticks[i])
		if left < end || right > lastLeft {
			ticks[i].Label = ""
			continue
		}
		end = right
	}
	return ticks
}
