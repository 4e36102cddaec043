package plot

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

// A figure is one or two plots side by side, and their legend at the right.
type figure struct {
	name   string // of the file, without its ending
	title  string
	panels []*plot.Plot
	legend plot.Legend
	height vg.Length
}

const (
	panelWidth   = 6 * vg.Inch
	panelHeight  = 4.2 * vg.Inch
	titleHeight  = 0.4 * vg.Inch
	legendMargin = 0.15 * vg.Inch
)

// Write draws all figures of the report into the folder, in each format ("svg",
// "png"), and makes the folder if need be. A report without results has none.
func Write(folder string, formats []string, r *report.Report) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	figures, err := all(r)
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	for _, f := range figures {
		for _, format := range formats {
			if err := f.write(filepath.Join(folder, f.name+"."+format), format); err != nil {
				return fmt.Errorf("plot: %w", err)
			}
		}
	}
	return nil
}

// all makes the figures of each run, and those over several.
func all(r *report.Report) ([]*figure, error) {
	var figures []*figure
	for i, run := range r.Runs {
		more, err := ofRun(fmt.Sprintf("run-%02d-%s", i+1, slug(run.Name)), run)
		if err != nil {
			return nil, err
		}
		figures = append(figures, more...)
	}
	over, err := overSettings(r)
	return append(figures, over...), err
}

// ofRun makes the figures of one run.
func ofRun(name string, run *report.Run) (figures []*figure, err error) {
	for _, draw := range []func(string, *report.Run) (*figure, error){poolSizes, throughput, latencies, percentiles, connections} {
		f, err := draw(name, run)
		if err != nil {
			return nil, err
		}
		if f != nil {
			figures = append(figures, f)
		}
	}
	return figures, nil
}

// write draws the figure into a file.
func (f *figure) write(name, format string) error {
	w, err := f.draw(format)
	if err != nil {
		return err
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := w.WriteTo(out); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// legendRoom is what a legend has beyond its measured width: a browser may show it
// in a wider font.
const legendRoom = 1.2

func (f *figure) draw(format string) (vg.CanvasWriterTo, error) {
	height := f.height
	if height == 0 {
		height = panelHeight
	}
	legend := f.legend.Rectangle(draw.Canvas{})
	legendWidth := legend.Size().X*legendRoom + 2*legendMargin
	width := panelWidth*vg.Length(len(f.panels)) + legendWidth
	height = max(height, legend.Size().Y+2*legendMargin)
	w, err := draw.NewFormattedCanvas(width, height+titleHeight, format)
	if err != nil {
		return nil, err
	}
	c := draw.New(w)
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	title := titleStyle()
	for title.Width(f.title)*legendRoom > width-0.4*vg.Inch && title.Font.Size > 7 {
		title.Font.Size--
	}
	c.FillText(title, vg.Point{X: 0.2 * vg.Inch, Y: height + titleHeight/4}, f.title)
	for i, p := range f.panels {
		left := panelWidth * vg.Length(i)
		p.Draw(draw.Crop(c, left+legendMargin, left+panelWidth-width-legendMargin, legendMargin, -titleHeight))
	}
	f.legend.Draw(draw.Crop(c, width-legendWidth, -legendMargin, 0, -titleHeight-legendMargin))
	return w, nil
}

var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// slug makes a text part of a file's name.
func slug(text string) string {
	text = strings.Trim(unsafeInNames.ReplaceAllString(text, "-"), "-")
	return text[:min(len(text), 80)]
}
