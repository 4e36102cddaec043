package plot

import (
	"bytes"
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

// A narrow picture has its panels one below the other and its legend at the end, so that
// its texts can be read on a phone, where a page is some 400 pixels wide.
const (
	narrowWidth  = 6 * vg.Inch
	narrowHeight = 3.4 * vg.Inch // of a panel
	lineHeight   = 0.24 * vg.Inch
)

// Narrow draws the figure of a name for a page that is read in light and in dark.
func Narrow(r *report.Report, name string) ([]byte, error) {
	f, err := find(r, name)
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	return f.narrow()
}

// find draws no more figures than it has to.
func find(r *report.Report, name string) (*figure, error) {
	var names []string
	among := func(figures []*figure, err error) (*figure, error) {
		for _, f := range figures {
			if names = append(names, f.name); f.name == name {
				return f, err
			}
		}
		return nil, err
	}
	if f, err := among(overSettings(r)); f != nil || err != nil {
		return f, err
	}
	for i, run := range r.Runs {
		of := fmt.Sprintf("run-%02d-%s", i+1, slug(run.Name))
		if !strings.HasPrefix(name, of+"-") {
			names = append(names, of+"-...")
			continue
		}
		if f, err := among(ofRun(of, run)); f != nil || err != nil {
			return f, err
		}
	}
	return nil, fmt.Errorf("no figure %q: there are %q", name, names)
}

// narrow draws the figure.
func (f *figure) narrow() ([]byte, error) {
	titles := wrap(titleStyle(), f.title, narrowWidth-0.4*vg.Inch)
	legend := f.legend.Rectangle(draw.Canvas{}).Size().Y
	if legend > 0 {
		legend += 2 * legendMargin
	}
	head := lineHeight*vg.Length(len(titles)) + legendMargin
	panel := max(narrowHeight, f.height)
	height := head + panel*vg.Length(len(f.panels)) + legend
	w, err := draw.NewFormattedCanvas(narrowWidth, height, "svg")
	if err != nil {
		return nil, err
	}
	c := draw.New(w)
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	for i, line := range titles {
		c.FillText(titleStyle(), vg.Point{X: 0.2 * vg.Inch, Y: height - lineHeight*vg.Length(i+1)}, line)
	}
	for i, p := range f.panels {
		plain(p)
		top := head + panel*vg.Length(i)
		p.Draw(draw.Crop(c, legendMargin, -legendMargin, height-top-panel+legendMargin, -top))
	}
	if legend > 0 {
		f.legend.Draw(draw.Crop(c, 0.2*vg.Inch, 0, 0, -(height - legend + legendMargin)))
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return nil, err
	}
	return themed(b.Bytes()), nil
}

// plain leaves the background to the page, and puts what the plot shows above it: beside a
// narrow plot a turned label takes room, of a logarithmic axis also above the plot.
func plain(p *plot.Plot) {
	p.BackgroundColor = nil
	if p.Title.Text == "" && p.Y.Label.Text == "" { // bars: their names leave less room
		p.Title.Text, p.X.Label.Text = p.X.Label.Text, ""
		return
	}
	if label := p.Y.Label.Text; p.Title.Text == "" || label != "" && !strings.HasPrefix(label, "latency") {
		p.Title.Text = label
	}
	p.Y.Label.Text = ""
}

// wrap breaks a title at its commas.
func wrap(style draw.TextStyle, title string, width vg.Length) (all []string) {
	line := ""
	for i, part := range strings.Split(title, ", ") {
		switch next := line + ", " + part; {
		case i == 0:
			line = part
		case style.Width(next)*legendRoom <= width:
			line = next
		default:
			all, line = append(all, line+","), part
		}
	}
	return append(all, line)
}
