package plot

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

// A row is one endpoint in one phase.
type row struct {
	name  string
	phase *report.Phase
}

// rows returns those in which a request came to an end.
func rows(run *report.Run) (all []row) {
	for _, e := range run.Endpoints {
		for _, p := range e.Phases {
			if p.Requests+p.Failed > 0 {
				all = append(all, row{e.RowName(p), p})
			}
		}
	}
	return all
}

// nines places a percentage so that each further nine takes as much room.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }

// leastForCurve is how many requests have percentiles, of which ten must be slower.
const leastForCurve = 11

// percentiles is a curve of latencies for each endpoint.
func percentiles(name string, run *report.Run) (*figure, error) {
	all := slices.DeleteFunc(rows(run), func(r row) bool { return r.phase.Requests < leastForCurve })
	if len(all) == 0 {
		return nil, nil
	}
	var percents []float64
	for x := 0.0; x <= 5; x += 0.025 {
		percents = append(percents, 100*(1-math.Pow(10, -x)))
	}
	p := newPlot("", "percentile of requests (each nine takes the same room)", "latency (logarithmic)")
	f := &figure{name: name + "-percentiles", title: "Latency by percentile: " + run.Title(), panels: []*plot.Plot{p}, legend: newLegend()}
	for i, r := range all {
		var points plotter.XYs
		at, latency := r.phase.Curve(percents)
		for j := range at {
			points = append(points, plotter.XY{X: nines(at[j]), Y: max(ms(latency[j]), 0.001)})
		}
		if len(points) == 0 {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.LineStyle = lineStyle(i)
		p.Add(line)
		f.legend.Add(withFailures(r.name, r.phase), line)
	}
	logAxis(&p.Y)
	var ticks []plot.Tick
	for _, percent := range []float64{0, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999} {
		ticks = append(ticks, plot.Tick{Value: nines(percent), Label: fmt.Sprintf("P%v", percent)})
	}
	ticks[0].Label = ""
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Min = 0
	return f, nil
}

// throughput is a bar for each endpoint, with the rounds' spread, and what failed
// behind it.
func throughput(name string, run *report.Run) (*figure, error) {
	all := rows(run)
	if len(all) == 0 {
		return nil, nil
	}
	slices.Reverse(all) // the first one is drawn at the bottom
	p := newPlot("", "requests per second; line: least to most of the rounds", "")
	f := &figure{name: name + "-throughput", title: "Throughput: " + run.Title(), panels: []*plot.Plot{p},
		legend: newLegend(), height: barsHeight(len(all))}
	succeeded, failed := plotter.Values{}, plotter.Values{}
	spread, labels := barSpread{}, plotter.XYLabels{}
	anyFailed := false
	for i, r := range all {
		succeeded, failed = append(succeeded, r.phase.Rate), append(failed, r.phase.FailedRate())
		anyFailed = anyFailed || r.phase.Failed > 0
		least, most := math.Inf(1), 0.0
		for _, round := range r.phase.PerRound {
			least, most = min(least, round.Rate), max(most, round.Rate)
		}
		spread.XYs = append(spread.XYs, plotter.XY{X: r.phase.Rate, Y: float64(i)})
		spread.XErrors = append(spread.XErrors, struct{ Low, High float64 }{r.phase.Rate - least, most - r.phase.Rate})
		labels.XYs = append(labels.XYs, plotter.XY{X: max(most, r.phase.Rate+r.phase.FailedRate()), Y: float64(i)})
		labels.Labels = append(labels.Labels, "  "+withFailures(rateText(r.phase.Rate), r.phase))
	}
	good, bad, err := stacked(succeeded, failed)
	if err != nil {
		return nil, err
	}
	p.Add(good)
	if anyFailed {
		p.Add(bad)
		f.legend.Add("succeeded", good)
		f.legend.Add("failed", bad)
	}
	whiskers, err := plotter.NewXErrorBars(spread)
	if err != nil {
		return nil, err
	}
	texts, err := barTexts(labels)
	if err != nil {
		return nil, err
	}
	p.Add(whiskers, texts)
	nominalRows(p, all)
	p.X.Min, p.X.Max = 0, p.X.Max*1.12
	if anyFailed {
		p.X.Max *= 1.15 // the labels are longer
	}
	p.X.Tick.Marker = rateTicks{}
	return f, nil
}

// stacked returns horizontal bars, one upon the other.
func stacked(values, upon plotter.Values) (first, second *plotter.BarChart, err error) {
	if first, err = plotter.NewBarChart(values, vg.Points(14)); err != nil {
		return nil, nil, err
	}
	if second, err = plotter.NewBarChart(upon, vg.Points(14)); err != nil {
		return nil, nil, err
	}
	for _, b := range []*plotter.BarChart{first, second} {
		b.Horizontal, b.LineStyle.Width = true, 0
	}
	first.Color, second.Color = palette[0], failedColor
	second.StackOn(first)
	return first, second, nil
}

func barTexts(labels plotter.XYLabels) (*plotter.Labels, error) {
	texts, err := plotter.NewLabels(labels)
	if err != nil {
		return nil, err
	}
	for i := range texts.TextStyle {
		texts.TextStyle[i].YAlign = draw.YCenter
		texts.TextStyle[i].Font.Variant = sans
	}
	return texts, nil
}

// barSpread is what error bars are drawn from.
type barSpread struct {
	plotter.XYs
	plotter.XErrors
}

func barsHeight(n int) vg.Length { return vg.Length(n)*0.32*vg.Inch + 1.2*vg.Inch }

func nominalRows(p *plot.Plot, all []row) {
	var names []string
	for _, r := range all {
		names = append(names, withFailures(r.name, r.phase))
	}
	widest := vg.Length(0)
	for _, name := range names {
		widest = max(widest, p.Y.Tick.Label.Width(name))
	}
	p.NominalY(names...)
	p.Y.Padding += widest * (legendRoom - 1) // a browser may show them in a wider font
	p.Y.Min, p.Y.Max = -0.6, float64(len(all))-0.4
}

// latencies has the median and high percentiles of each endpoint side by side,
// of fast and slow requests apart where there are both. A percentile that too few
// requests exceed is left out.
func latencies(name string, run *report.Run) (*figure, error) {
	all := rows(run)
	if len(all) == 0 {
		return nil, nil
	}
	slices.Reverse(all)
	p := newPlot("", "latency (logarithmic)", "")
	f := &figure{name: name + "-latency", title: "Latency: " + run.Title(), panels: []*plot.Plot{p},
		legend: newLegend(), height: barsHeight(len(all))}
	both := slices.ContainsFunc(all, func(r row) bool { return r.phase.Slow != nil })
	kinds := []marks{{name: "", color: palette[0], of: func(p *report.Phase) *report.Latency { return &p.Latency }}}
	if both {
		kinds = []marks{
			{name: "fast ", color: palette[0], of: func(p *report.Phase) *report.Latency { return p.Fast }},
			{name: "slow ", color: palette[3], of: func(p *report.Phase) *report.Latency { return p.Slow }},
		}
	}
	for _, k := range kinds {
		for shape, percent := range []float64{50, 99, 99.9} {
			if err := k.add(f, all, percent, shape); err != nil {
				return nil, err
			}
		}
	}
	nominalRows(p, all)
	logAxis(&p.X)
	return f, nil
}

// connections is how many were open while the load changed in steps.
func connections(name string, run *report.Run) (*figure, error) {
	p := newPlot("", "time since the turn began (s)", "connections open, all nodes together")
	f := &figure{name: name + "-connections", title: "Connections over time, last round: " + run.Title(),
		panels: []*plot.Plot{p}, legend: newLegend()}
	for i, e := range run.Endpoints {
		if len(e.Phases) < 2 {
			return nil, nil
		}
		var points plotter.XYs
		for _, phase := range e.Phases {
			for _, s := range phase.Samples {
				points = append(points, plotter.XY{X: time.Duration(s.At).Seconds(), Y: float64(s.Open)})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.LineStyle, line.StepStyle = lineStyle(i), plotter.PostStep
		p.Add(line)
		f.legend.Add(e.Name, line)
	}
	p.Y.Min = 0
	return f, nil
}
