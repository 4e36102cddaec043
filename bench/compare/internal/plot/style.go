package plot

import (
	"fmt"
	"image/color"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	white = color.White
	grid  = color.Gray{215}
)

// palette can be told apart by those who do not see all colours.
// Source: M. Okabe and K. Ito, "Color Universal Design", 2008.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {213, 94, 0, 255},
	{204, 121, 167, 255}, {86, 180, 233, 255}, {90, 90, 90, 255},
}

// dashes tell more lines apart than there are colours.
var dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}}

func lineStyle(i int) draw.LineStyle {
	return draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.8), Dashes: dashes[i/len(palette)%len(dashes)]}
}

// sans is the variant of the font of all texts. The font is embedded, so that
// figures look the same everywhere.
const sans font.Variant = "Sans"

func titleStyle() draw.TextStyle {
	s := plot.New().Title.TextStyle
	s.Font.Variant = sans
	s.Font.Size = 13
	s.XAlign, s.YAlign = draw.XLeft, draw.YBottom
	return s
}

// newPlot returns a plot with a grid and labelled axes.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Label.Padding, p.Y.Label.Padding = vg.Points(4), vg.Points(4)
	for _, s := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label} {
		s.Font.Variant = sans
	}
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = grid, grid
	lines.Horizontal.Width, lines.Vertical.Width = vg.Points(0.5), vg.Points(0.5)
	p.Add(lines)
	return p
}

func newLegend() plot.Legend {
	l := plot.NewLegend()
	l.Top, l.Left = true, true
	l.TextStyle.Font.Variant = sans
	l.Padding = vg.Points(3)
	l.ThumbnailWidth = vg.Points(24)
	return l
}

// durationTicks are at 1, 2 and 5 times powers of ten of an axis in
// milliseconds, which is logarithmic.
type durationTicks struct{}

// Ticks is part of plot.Ticker.
func (durationTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range []float64{1, 2, 5} {
			if v := m * math.Pow(10, e); v >= low*0.999 && v <= high*1.001 {
				ticks = append(ticks, plot.Tick{Value: v, Label: msText(v)})
			}
		}
	}
	return ticks
}

// msText writes milliseconds with the unit that suits them.
func msText(ms float64) string {
	switch {
	case ms >= 1000:
		return fmt.Sprintf("%.4g s", ms/1000)
	case ms >= 1:
		return fmt.Sprintf("%.4g ms", ms)
	default:
		return fmt.Sprintf("%.4g µs", ms*1000)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// logAxis makes an axis of latencies, and widens it to whole ticks.
func logAxis(a *plot.Axis) {
	a.Scale = plot.LogScale{}
	a.Tick.Marker = durationTicks{}
	if !(a.Min > 0) || math.IsInf(a.Max, 0) {
		a.Min, a.Max = 0.01, 1
	}
	a.Min, a.Max = nice(a.Min, math.Floor), nice(a.Max, math.Ceil)
	if a.Min == a.Max {
		a.Min, a.Max = a.Min/2, a.Max*2
	}
}

// nice rounds to 1, 2 or 5 times a power of ten, in the direction of round.
func nice(v float64, round func(float64) float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	steps := []float64{1, 2, 5, 10}
	if round(0.5) == 0 {
		for i := len(steps) - 1; i >= 0; i-- {
			if steps[i]*power <= v*1.0001 {
				return steps[i] * power
			}
		}
		return power
	}
	for _, s := range steps {
		if s*power >= v*0.9999 {
			return s * power
		}
	}
	return 10 * power
}

// rateTicks label requests a second with k and M.
type rateTicks struct{}

// Ticks is part of plot.Ticker.
func (rateTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = rateText(t.Value)
		}
	}
	return ticks
}

func rateText(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3gk", v/1e3)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}
