package plot

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// Rates are requests per second over a number, such as callers. A picture shows several, one
// below the other.
type Rates struct {
	Title string
	Over  string
	Lines []Line
}

// A Line is the rates of one client.
type Line struct {
	Name  string
	At    []int
	Rates []float64
}

// DrawRates draws them for a page. All have the same names in the same order.
func DrawRates(title string, all []Rates) ([]byte, error) {
	f := &figure{title: title, legend: newLegend()}
	for n, r := range all {
		p := newPlot(r.Title, r.Over, "")
		over := axis{label: r.Over}
		for i, l := range r.Lines {
			var points plotter.XYs
			for j, at := range l.At {
				over.add(float64(at), rateText(float64(at)))
				points = append(points, plotter.XY{X: float64(at), Y: l.Rates[j]})
			}
			line, err := curve(p, points, i, false)
			if err != nil {
				return nil, fmt.Errorf("plot: %w", err)
			}
			if n == 0 {
				f.legend.Add(l.Name, line)
			}
		}
		if len(over.at) == 0 {
			return nil, fmt.Errorf("plot: %s has no rates", r.Title)
		}
		slices.Sort(over.at)
		over.text = nil
		for _, at := range over.at {
			over.text = append(over.text, rateText(at))
		}
		over.mark(p)
		p.Y.Min, p.Y.Tick.Marker = 0, rateTicks{}
		f.panels = append(f.panels, []*plot.Plot{p}...)
	}
	return f.narrow()
}
