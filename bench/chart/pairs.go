package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const pairHeight = 0.42 * vg.Inch

// height is that of the panel.
func (p *Panel) height() vg.Length {
	if len(p.Pairs) > 0 {
		return pairHeight*vg.Length(len(p.Pairs)) + 0.8*vg.Inch
	}
	return panelHeight
}

// pairs draws two bars for each name, the first name on top. They begin at a factor of 1.
func (p *Panel) pairs(legend *plot.Legend) (*plot.Plot, error) {
	drawn := newPlot(p.Title, "factor (logarithmic)")
	n := len(p.Pairs)
	names := make([]string, n)
	for side, of := range []struct {
		name   string
		factor func(Pair) float64
	}{{"theirs", func(p Pair) float64 { return p.Theirs }}, {"ours", func(p Pair) float64 { return p.Ours }}} {
		values, ends := make(plotter.Values, n), plotter.XYLabels{XYs: make(plotter.XYs, n), Labels: make([]string, n)}
		for i, pair := range p.Pairs {
			at := n - 1 - i
			factor := of.factor(pair)
			names[at], values[at] = pair.Name+"   ", math.Log2(factor) // room, as elsewhere
			ends.XYs[at], ends.Labels[at] = plotter.XY{X: math.Log2(factor), Y: float64(at)}, "  × "+Number(factor)+"   "
		}
		bars, err := plotter.NewBarChart(values, pairHeight/3)
		if err != nil {
			return nil, err
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, palette[1-side], 0
		bars.Offset = pairHeight / 6 * vg.Length(1-2*side)
		texts, err := plotter.NewLabels(ends)
		if err != nil {
			return nil, err
		}
		texts.Offset = vg.Point{Y: bars.Offset}
		for i := range texts.TextStyle {
			texts.TextStyle[i].Font.Variant, texts.TextStyle[i].YAlign = sans, draw.YCenter
			if texts.TextStyle[i].XAlign = draw.XLeft; values[i] < 0 {
				texts.TextStyle[i].XAlign = draw.XRight
			}
		}
		drawn.Add(bars, texts)
		legend.Add(of.name, bars)
	}
	drawn.NominalY(names...)
	drawn.X.Tick.Marker = plot.TickerFunc(factors)
	drawn.X.Min, drawn.X.Max = math.Floor(min(0, drawn.X.Min))-1, math.Ceil(max(0, drawn.X.Max))+1
	return drawn, nil
}

// factors are ticks, labelled at powers of two, or of four where there are many.
func factors(low, high float64) (ticks []plot.Tick) {
	step := 1.0
	if high-low > 8 {
		step = 2
	}
	for at := math.Ceil(low/step) * step; at <= high; at += step {
		ticks = append(ticks, plot.Tick{Value: at, Label: "× " + Number(math.Exp2(at))})
	}
	return ticks
}
