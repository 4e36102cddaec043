package report

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// palette can be told apart by those who do not see all colours.
// Source: M. Okabe and K. Ito, "Color Universal Design", 2008.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {213, 94, 0, 255},
	{204, 121, 167, 255}, {86, 180, 233, 255}, {90, 90, 90, 255},
}

// inks replaces the colours that the page changes in the dark.
var inks = strings.NewReplacer("#FFFFFF", "var(--paper)", "#000000", "var(--ink)", "#D7D7D7", "var(--line)", "#0072B2", "var(--blue)", "#5A5A5A", "var(--grey)")

const (
	plotWidth  = 6 * vg.Inch // its texts can be read on a phone, where a page is some 400 pixels wide
	plotHeight = 3.6 * vg.Inch
	margin     = 0.12 * vg.Inch
)

// A figure is a plot of the page.
type figure struct {
	Title string
	SVG   template.HTML

	y      string // what the Y axis has
	log    bool
	curves []curve
}

// A curve has a point for each step. A dashed one has two points, to compare others with.
type curve struct {
	name   string
	color  int
	dashed bool
	points plotter.XYs
}

// figures draws all plots; none without steps.
func (r *Report) figures() ([]figure, error) {
	if len(r.Steps) == 0 {
		return nil, nil
	}
	low, high := float64(r.Steps[0].Target), float64(r.Steps[len(r.Steps)-1].Target)
	if low == high { // some room around a single step
		low, high = low*0.9, high*1.1
	}
	level := func(name string, y float64) curve {
		return curve{name, 6, true, plotter.XYs{{X: low, Y: y}, {X: high, Y: y}}}
	}
	latencies := []curve{
		r.curve("P99", 3, func(s *verdict.Step) float64 { return ms(s.Latency.P99) }),
		r.curve("P95", 1, func(s *verdict.Step) float64 { return ms(s.Latency.P95) }),
		r.curve("average", 5, func(s *verdict.Step) float64 { return ms(s.Latency.Mean) }),
		r.curve("P50", 0, func(s *verdict.Step) float64 { return ms(s.Latency.P50) }),
	}
	for _, b := range verdict.Bands {
		latencies = append(latencies, level(fmt.Sprintf("%s below %v", b.Verdict, b.Below), ms(b.Below)))
	}
	rates := []curve{
		{"target", 6, true, plotter.XYs{{X: low, Y: low}, {X: high, Y: high}}},
		r.curve("actual", 0, func(s *verdict.Step) float64 { return s.Actual }),
	}
	for i, at := range []int{r.Summary.Limit, r.Summary.Breaking} {
		if x := float64(at); at > 0 {
			rates = append(rates, curve{[]string{"limit", "breaking point"}[i], 2 + i, true, plotter.XYs{{X: x, Y: 0}, {X: x, Y: high}}})
		}
	}
	all := []figure{
		{Title: "Actual rate by target", y: "successes a second", curves: rates},
		{Title: "Latency by target", y: "milliseconds (logarithmic)", log: true, curves: latencies},
		{Title: "Share of requests that failed by target", y: "failed (%)", curves: []curve{
			r.curve("failed", 3, func(s *verdict.Step) float64 { return s.FailureShare() * 100 }),
			level("breaking above 1 %", verdict.MostFailures*100),
		}},
	}
	for i := range all {
		if err := all[i].draw(low, high); err != nil {
			return nil, fmt.Errorf("report: plot of %s: %w", all[i].Title, err)
		}
	}
	return all, nil
}

// curve returns that of a figure. A step without a latency has no point.
func (r *Report) curve(name string, color int, of func(*verdict.Step) float64) curve {
	c := curve{name: name, color: color}
	for i := range r.Steps {
		s := &r.Steps[i]
		if y := of(s); y > 0 || s.Latency.Count > 0 {
			c.points = append(c.points, plotter.XY{X: float64(s.Target), Y: y})
		}
	}
	return c
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// draw makes the SVG, with the legend below the plot.
func (f *figure) draw(low, high float64) error {
	p, legend := plot.New(), plot.NewLegend()
	for _, s := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &legend.TextStyle} {
		s.Font.Variant = font.Variant("Sans")
	}
	p.Title.Text, p.X.Label.Text = f.y, "target (requests a second)" // a turned label of the Y axis takes room
	p.X.Min, p.X.Max, p.BackgroundColor = low, high, nil
	p.X.Tick.Marker, p.Y.Tick.Marker = numberTicks{}, numberTicks{}
	if f.log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	} else {
		p.Y.Min = 0
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{215}, color.Gray{215}
	p.Add(grid)
	for _, c := range f.curves {
		if len(c.points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(c.points)
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: palette[c.color], Width: vg.Points(1.8)}
		dots.GlyphStyle = draw.GlyphStyle{Color: palette[c.color], Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
		if c.dashed {
			line.Dashes, line.Width, dots.Radius = []vg.Length{vg.Points(5), vg.Points(3)}, vg.Points(1.2), 0
		}
		p.Add(line, dots)
		legend.Add(c.name, line)
	}
	legend.Top, legend.Left = true, true
	legend.Padding, legend.ThumbnailWidth = vg.Points(3), vg.Points(24)
	below := legend.Rectangle(draw.Canvas{}).Size().Y + 2*margin
	canvas := vgsvg.New(plotWidth, plotHeight+below)
	all := draw.New(canvas)
	p.Draw(draw.Crop(all, margin, -margin, below, -margin))
	legend.Draw(draw.Crop(all, 4*margin, -margin, 0, -plotHeight-margin))
	var b bytes.Buffer
	_, _ = canvas.WriteTo(&b) // to memory
	_, svg, _ := strings.Cut(inks.Replace(b.String()), "<svg")
	f.SVG = template.HTML("<svg" + svg) // without the head of an XML file
	return nil
}

// numberTicks labels values with commas between thousands.
type numberTicks struct{}

// Ticks is part of plot.Ticker.
func (numberTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = english.Sprint(t.Value)
		}
	}
	return ticks
}
