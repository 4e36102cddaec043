package report

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// palette can be told apart by those who do not see all colours.
// Source: M. Okabe and K. Ito, "Color Universal Design", 2008.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {213, 94, 0, 255},
	{204, 121, 167, 255}, {86, 180, 233, 255}, {90, 90, 90, 255},
}

const (
	plotWidth  = 6 * vg.Inch // its texts can be read on a phone, where a page is some 400 pixels wide
	plotHeight = 3.6 * vg.Inch
	margin     = 0.12 * vg.Inch
)

// inks are the colours that the page changes in the dark.
var inks = map[string]string{"#FFFFFF": "paper", "#000000": "ink", "#D7D7D7": "line", "#0072B2": "blue", "#5A5A5A": "grey"}

// A canvas is a plot with its legend below it.
type canvas struct {
	plot   *plot.Plot
	legend plot.Legend
}

// newCanvas returns an empty plot whose X axis has the values from low to high.
func newCanvas(x string, low, high float64) *canvas {
	const sans font.Variant = "Sans"
	c := &canvas{plot: plot.New(), legend: plot.NewLegend()}
	c.plot.X.Label.Text, c.plot.X.Min, c.plot.X.Max = x, low, high
	if low == high { // some room around a single step
		c.plot.X.Min, c.plot.X.Max = low*0.9, high*1.1
	}
	c.plot.X.Label.Padding, c.plot.Y.Label.Padding = vg.Points(4), vg.Points(4)
	for _, s := range []*draw.TextStyle{&c.plot.Title.TextStyle, &c.plot.X.Label.TextStyle, &c.plot.Y.Label.TextStyle,
		&c.plot.X.Tick.Label, &c.plot.Y.Tick.Label, &c.legend.TextStyle} {
		s.Font.Variant = sans
	}
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = color.Gray{215}, color.Gray{215}
	lines.Horizontal.Width, lines.Vertical.Width = vg.Points(0.5), vg.Points(0.5)
	c.plot.Add(lines)
	c.legend.Top, c.legend.Left = true, true
	c.legend.Padding, c.legend.ThumbnailWidth = vg.Points(3), vg.Points(24)
	return c
}

// line draws points that are joined by a line.
func (c *canvas) line(name string, points plotter.XYs, of color.Color) error {
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return fmt.Errorf("report: plot of %s: %w", name, err)
	}
	line.LineStyle = draw.LineStyle{Color: of, Width: vg.Points(1.8)}
	dots.GlyphStyle = draw.GlyphStyle{Color: of, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	c.plot.Add(line, dots)
	c.legend.Add(name, line, dots)
	return nil
}

// dashed draws a line to compare others with.
func (c *canvas) dashed(name string, points plotter.XYs, of color.Color) error {
	line, err := c.guide(name, points, of)
	if err == nil {
		c.legend.Add(name, line)
	}
	return err
}

func (c *canvas) guide(name string, points plotter.XYs, of color.Color) (*plotter.Line, error) {
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, fmt.Errorf("report: plot of %s: %w", name, err)
	}
	line.LineStyle = draw.LineStyle{Color: of, Width: vg.Points(1.2), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}
	c.plot.Add(line)
	return line, nil
}

// threshold draws a level with its name above the line.
func (c *canvas) threshold(name string, at float64) error {
	left := plotter.XY{X: c.plot.X.Min, Y: at}
	if _, err := c.guide(name, plotter.XYs{left, {X: c.plot.X.Max, Y: at}}, palette[6]); err != nil {
		return err
	}
	label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{left}, Labels: []string{name}})
	if err != nil {
		return fmt.Errorf("report: plot of %s: %w", name, err)
	}
	label.TextStyle[0].Font.Variant, label.TextStyle[0].Font.Size = "Sans", 9
	label.Offset = vg.Point{X: vg.Points(3), Y: vg.Points(2)}
	c.plot.Add(label)
	return nil
}

// svg draws the canvas as an element of a page.
func (c *canvas) svg() template.HTML {
	legend := c.legend.Rectangle(draw.Canvas{}).Size().Y + 2*margin
	out := vgsvg.New(plotWidth, plotHeight+legend)
	all := draw.New(out)
	c.plot.Title.Text, c.plot.Y.Label.Text = c.plot.Y.Label.Text, "" // a turned label takes room
	c.plot.BackgroundColor = nil
	c.plot.Draw(draw.Crop(all, margin, -margin, legend, -margin))
	c.legend.Draw(draw.Crop(all, 4*margin, -margin, 0, -plotHeight-margin))
	var b bytes.Buffer
	_, _ = out.WriteTo(&b) // to memory
	text := b.Bytes()
	for ink, name := range inks {
		text = bytes.ReplaceAll(text, []byte(ink), []byte("var(--"+name+")"))
	}
	return template.HTML(text[bytes.Index(text, []byte("<svg")):]) // without the head of an XML file
}

// numberTicks labels rates with commas between thousands.
type numberTicks struct{}

// Ticks is part of plot.Ticker.
func (numberTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = number(t.Value)
		}
	}
	return ticks
}

// logAxis makes an axis of latencies in milliseconds logarithmic, from one power
// of ten to another.
func logAxis(a *plot.Axis) {
	a.Scale, a.Tick.Marker = plot.LogScale{}, latencyTicks{}
	if !(a.Min > 0) || math.IsInf(a.Max, 0) {
		a.Min, a.Max = 0.1, 100
	}
	a.Min, a.Max = math.Pow(10, math.Floor(math.Log10(a.Min))), math.Pow(10, math.Ceil(math.Log10(a.Max)))
	if a.Min == a.Max {
		a.Max *= 10
	}
}

// latencyTicks are at 1, 2 and 5 times powers of ten.
type latencyTicks struct{}

// Ticks is part of plot.Ticker.
func (latencyTicks) Ticks(low, high float64) (ticks []plot.Tick) {
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
