package plot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// A sweep is the runs that differ in one setting only, which has a number.
type sweep struct {
	key  string
	rest string // the other settings that vary, as text
	at   []float64
	text []string
	runs []*report.Run
}

// overSettings draws throughput and latency over each setting that was varied
// and has a number, once for each combination of the others.
func overSettings(r *report.Report) (figures []*figure, err error) {
	for _, s := range sweeps(r) {
		f, err := s.figure()
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}

func sweeps(r *report.Report) (all []*sweep) {
	for _, run := range r.Runs {
		for i, v := range run.Varied {
			at, ok := numeric(v.Value)
			if !ok {
				continue
			}
			rest := others(run.Varied, i)
			j := slices.IndexFunc(all, func(s *sweep) bool { return s.key == v.Key && s.rest == rest })
			if j < 0 {
				all = append(all, &sweep{key: v.Key, rest: rest})
				j = len(all) - 1
			}
			all[j].at = append(all[j].at, at)
			all[j].text = append(all[j].text, fmt.Sprint(v.Value))
			all[j].runs = append(all[j].runs, run)
		}
	}
	return slices.DeleteFunc(all, func(s *sweep) bool { return len(s.runs) < 2 })
}

// numeric returns a number for the axis: that of a duration is in milliseconds.
func numeric(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case string:
		if bytes, ok := settings.ParseBandwidth(v); ok {
			return float64(bytes), true
		}
		d, err := time.ParseDuration(v)
		return ms(d), err == nil
	}
	return 0, false
}

func others(varied []settings.Value, but int) string {
	var parts []string
	for i, v := range varied {
		if i != but {
			parts = append(parts, fmt.Sprintf("%s=%v", v.Key, v.Value))
		}
	}
	return strings.Join(parts, " ")
}

func (s *sweep) figure() (*figure, error) {
	rates := newPlot("throughput", s.key, "requests per second")
	times := newPlot("latency: P50 as lines, P99 as dotted lines", s.key, "latency (logarithmic)")
	title := "Over " + s.key
	if s.rest != "" {
		title += ", " + s.rest
	}
	f := &figure{name: slug("over-" + s.key + "-" + s.rest), title: title, panels: []*plot.Plot{rates, times}, legend: newLegend()}
	for i, name := range s.names() {
		rate, p50, p99 := s.series(name)
		line, err := curve(rates, rate, i, false)
		if err != nil {
			return nil, err
		}
		f.legend.Add(name, line)
		if _, err := curve(times, p50, i, false); err != nil {
			return nil, err
		}
		if _, err := curve(times, p99, i, true); err != nil {
			return nil, err
		}
	}
	var ticks []plot.Tick
	for i, at := range s.at {
		ticks = append(ticks, plot.Tick{Value: at, Label: s.text[i]})
	}
	for _, p := range f.panels {
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
	rates.Y.Min, rates.Y.Tick.Marker = 0, rateTicks{}
	logAxis(&times.Y)
	return f, nil
}

// names are those of the rows, in the order in which they come.
func (s *sweep) names() (all []string) {
	for _, run := range s.runs {
		for _, r := range rows(run) {
			if !slices.Contains(all, r.name) {
				all = append(all, r.name)
			}
		}
	}
	return all
}

func (s *sweep) series(name string) (rate, p50, p99 plotter.XYs) {
	for i, run := range s.runs {
		for _, r := range rows(run) {
			if r.name == name {
				rate = append(rate, plotter.XY{X: s.at[i], Y: r.phase.Rate})
				p50 = append(p50, plotter.XY{X: s.at[i], Y: max(ms(r.phase.Latency.At(50)), 0.001)})
				p99 = append(p99, plotter.XY{X: s.at[i], Y: max(ms(r.phase.Latency.At(99)), 0.001)})
			}
		}
	}
	return rate, p50, p99
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
