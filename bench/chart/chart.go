// Package chart draws lines for pages, as SVG: panels one below the other, and a legend. Its
// texts can be read on a phone, in light and in dark. It computes nothing.
package chart

import (
	"bytes"
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Chart is a picture.
type Chart struct {
	Title  string
	Panels []Panel
}

// A Panel is lines over one axis, or pairs of bars.
type Panel struct {
	Title string // what the lines show
	X     Axis
	Y     Scale
	Lines []Line
	Pairs []Pair
}

// A Pair is a factor that others report, and ours.
type Pair struct {
	Name         string
	Theirs, Ours float64
}

// A Line is one series. Lines of a name have one colour, and one entry in the legend.
type Line struct {
	Name   string
	Points []Point
	Style  Style
}

// A Point is a figure, and its spread over rounds if that is known.
type Point struct{ X, Y, Low, High float64 }

// A Style is how a line looks.
type Style uint8

// The styles.
const (
	Solid   Style = iota // with a dot at each point
	Dotted               // thin, with a dot at each point
	Plain                // without dots
	Steps                // as Plain, and level between two points
	Crosses              // no line: a cross at each point
)

// An Axis is what the panel's lines are over.
type Axis struct {
	Label string
	Ticks []plot.Tick // where there are any, the axis is logarithmic if they are far apart
}

// Add adds a tick, unless it is there.
func (a *Axis) Add(at float64, text string) {
	for _, t := range a.Ticks {
		if t.Value == at {
			return
		}
	}
	a.Ticks = append(a.Ticks, plot.Tick{Value: at, Label: text})
}

const (
	width       = 6 * vg.Inch
	panelHeight = 3.4 * vg.Inch
	lineHeight  = 0.24 * vg.Inch
	margin      = 0.15 * vg.Inch
	// room is what a text has beyond its measured width: a browser may show it in a wider font.
	room = 1.2
)

// SVG draws the chart.
func (c *Chart) SVG() ([]byte, error) {
	legend, colors := c.legend()
	shown := make(map[string]bool)
	var panels []*plot.Plot
	for _, p := range c.Panels {
		drawn, err := p.plot(colors, &legend, shown)
		if err != nil {
			return nil, fmt.Errorf("chart %q: %w", c.Title, err)
		}
		panels = append(panels, drawn)
	}
	titles := wrap(titleStyle(), c.Title, width-0.4*vg.Inch)
	below := legend.Rectangle(draw.Canvas{}).Size().Y + 2*margin
	head := lineHeight*vg.Length(len(titles)) + margin
	height := head
	for i := range c.Panels {
		height += c.Panels[i].height()
	}
	height += below
	w, err := draw.NewFormattedCanvas(width, height, "svg")
	if err != nil {
		return nil, err
	}
	canvas := draw.New(w)
	canvas.SetColor(white)
	canvas.Fill(canvas.Rectangle.Path())
	for i, line := range titles {
		canvas.FillText(titleStyle(), vg.Point{X: 0.2 * vg.Inch, Y: height - lineHeight*vg.Length(i+1)}, line)
	}
	top := head
	for i, p := range panels {
		bottom := top + c.Panels[i].height()
		p.Draw(draw.Crop(canvas, margin, -margin, height-bottom+margin, -top))
		top = bottom
	}
	legend.Draw(draw.Crop(canvas, 0.2*vg.Inch, 0, 0, -(height - below + margin)))
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return nil, err
	}
	return themed(b.Bytes()), nil
}

// wrap breaks a title at its commas.
func wrap(style draw.TextStyle, title string, width vg.Length) (all []string) {
	line := ""
	for i, part := range strings.Split(title, ", ") {
		switch next := line + ", " + part; {
		case i == 0:
			line = part
		case style.Width(next)*room <= width:
			line = next
		default:
			all, line = append(all, line+","), part
		}
	}
	return append(all, line)
}

// inks are the colours of a picture, and what they are in the dark.
var inks = []struct{ name, light, dark string }{
	{"paper", "#FFFFFF", "#0D1117"},
	{"ink", "#000000", "#E6EDF3"},
	{"grid", "#D7D7D7", "#30363D"},
	{"blue", "#0072B2", "#3B82F6"},
	{"grey", "#5A5A5A", "#A8B1BB"},
}

// themed is the picture with colours that follow the scheme that its reader prefers. Inside
// a page it is an image, which knows the scheme, too.
func themed(svg []byte) []byte {
	var light, dark strings.Builder
	for _, ink := range inks {
		fmt.Fprintf(&light, "--%s:%s;", ink.name, ink.light)
		fmt.Fprintf(&dark, "--%s:%s;", ink.name, ink.dark)
		svg = bytes.ReplaceAll(svg, []byte(ink.light), []byte("var(--"+ink.name+")"))
	}
	svg = bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Helvetica,Arial,sans-serif;"))
	style := fmt.Sprintf("<style>svg{%s}text{fill:var(--ink)}@media (prefers-color-scheme:dark){svg{%s}}</style>\n", light.String(), dark.String())
	at := bytes.Index(svg, []byte("<g "))
	if at < 0 {
		return svg
	}
	return append(append(bytes.Clone(svg[:at]), style...), svg[at:]...)
}
