package chart

import (
	"errors"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	white = color.White
	black = color.Black
	grid  = color.Gray{215}
)

// palette has colours that colour-blind readers can tell apart.
// Source: M. Okabe and K. Ito, "Color Universal Design", 2008.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {213, 94, 0, 255},
	{204, 121, 167, 255}, {86, 180, 233, 255}, {90, 90, 90, 255},
}

// own are the colours that a pool has in each picture.
var own = map[string]int{"laned-4": 0, "fixed-10": 1, "fixed-50": 2, "fixed-100": 3}

// dashes tell more lines apart than there are colours.
var dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}}

func lineStyle(i int) draw.LineStyle {
	return draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.8), Dashes: dashes[i/len(palette)%len(dashes)]}
}

// legend returns the legend without entries, and which colour each name has: its own, or the
// next that is free.
func (c *Chart) legend() (plot.Legend, map[string]int) {
	l := plot.NewLegend()
	l.Top, l.Left = true, true
	l.TextStyle.Font.Variant = sans
	l.Padding = vg.Points(3)
	l.ThumbnailWidth = vg.Points(24)
	colors, taken := make(map[string]int), make(map[int]bool)
	each := func(f func(name string)) {
		for _, p := range c.Panels {
			for _, line := range p.Lines {
				if _, known := colors[line.Name]; !known && line.Style != Crosses {
					f(line.Name)
				}
			}
		}
	}
	each(func(name string) {
		if i, ok := own[name]; ok {
			colors[name], taken[i] = i, true
		}
	})
	next := 0
	each(func(name string) {
		for taken[next] {
			next++
		}
		colors[name], taken[next] = next, true
	})
	return l, colors
}

// plot draws the panel, and adds the names to the legend that are not shown there.
func (p *Panel) plot(colors map[string]int, legend *plot.Legend, shown map[string]bool) (*plot.Plot, error) {
	if len(p.Pairs) > 0 {
		return p.pairs(legend)
	}
	drawn := newPlot(p.Title, p.X.Label)
	points := 0
	for _, l := range p.Lines {
		if len(l.Points) == 0 {
			continue
		}
		points += len(l.Points)
		entry, err := l.addTo(drawn, colors[l.Name])
		if err != nil {
			return nil, err
		}
		if !shown[l.Name] {
			legend.Add(l.Name, entry)
			shown[l.Name] = true
		}
	}
	if points == 0 {
		return nil, errors.New("there is nothing to draw")
	}
	p.X.mark(drawn)
	p.Y.mark(&drawn.Y)
	return drawn, nil
}

// addTo draws the line, and returns what the legend shows of it.
func (l *Line) addTo(p *plot.Plot, color int) (plot.Thumbnailer, error) {
	points := make(plotter.XYs, len(l.Points))
	for i, at := range l.Points {
		points[i] = plotter.XY{X: at.X, Y: at.Y}
	}
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, err
	}
	if l.Style == Crosses {
		dots.GlyphStyle = draw.GlyphStyle{Color: black, Radius: vg.Points(4.5), Shape: draw.CrossGlyph{}}
		p.Add(dots)
		return dots, nil
	}
	line.LineStyle = lineStyle(color)
	switch l.Style {
	case Dotted:
		line.Width, line.Dashes = vg.Points(1), []vg.Length{vg.Points(1.5), vg.Points(2)}
	case Steps:
		line.StepStyle = plotter.PostStep
	}
	p.Add(line)
	if l.Style == Solid || l.Style == Dotted {
		dots.Shape, dots.Color, dots.Radius = draw.CircleGlyph{}, line.Color, vg.Points(2.5)
		p.Add(dots)
	}
	return line, l.spread(p, line.Color)
}

// spread draws the rounds as bars, where they are known.
func (l *Line) spread(p *plot.Plot, color color.Color) error {
	known := slices.DeleteFunc(slices.Clone(l.Points), func(at Point) bool { return at.High <= at.Low })
	if len(known) == 0 {
		return nil
	}
	bars, err := plotter.NewYErrorBars(rounds(known))
	if err != nil {
		return err
	}
	bars.Color, bars.Width, bars.CapWidth = color, vg.Points(0.8), vg.Points(4)
	p.Add(bars)
	return nil
}

// rounds are points with bars.
type rounds []Point

func (r rounds) Len() int                         { return len(r) }
func (r rounds) XY(i int) (x, y float64)          { return r[i].X, r[i].Y }
func (r rounds) YError(i int) (low, high float64) { return r[i].Y - r[i].Low, r[i].High - r[i].Y }

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

// newPlot returns a plot with a grid and a labelled axis. The page is its background.
func newPlot(title, x string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text = title
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text = x
	p.X.Label.Padding = vg.Points(4)
	for _, s := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		s.Font.Variant = sans
	}
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = grid, grid
	lines.Horizontal.Width, lines.Vertical.Width = vg.Points(0.5), vg.Points(0.5)
	p.Add(lines)
	return p
}
