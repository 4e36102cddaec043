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
	add := func(f *figure, err error) error {
		if f != nil {
			figures = append(figures, f)
		}
		return err
	}
	for i, run := range r.Runs {
		name := fmt.Sprintf("run-%02d-%s", i+1, slug(run.Name))
		for _, draw := range []func(string, *report.Run) (*figure, error){percentiles, throughput, latencies, connections} {
			if err := add(draw(name, run)); err != nil {
				return nil, err
			}
		}
	}
	over, err := overSettings(r)
	return append(figures, over...), err
}

// write draws the figure into a file.
func (f *figure) write(name, format string) error {
	height := f.height
	if height == 0 {
		height = panelHeight
	}
	legend := f.legend.Rectangle(draw.Canvas{})
	legendWidth := legend.Size().X + 2*legendMargin
	width := panelWidth*vg.Length(len(f.panels)) + legendWidth
	height = max(height, legend.Size().Y+2*legendMargin)
	w, err := draw.NewFormattedCanvas(width, height+titleHeight, format)
	if err != nil {
		return err
	}
	c := draw.New(w)
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	c.FillText(titleStyle(), vg.Point{X: 0.2 * vg.Inch, Y: height + titleHeight/4}, f.title)
	for i, p := range f.panels {
		left := panelWidth * vg.Length(i)
		p.Draw(draw.Crop(c, left+legendMargin, left+panelWidth-width-legendMargin, legendMargin, -titleHeight))
	}
	f.legend.Draw(draw.Crop(c, width-legendWidth, -legendMargin, 0, -titleHeight-legendMargin))
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

var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// slug makes a text part of a file's name.
func slug(text string) string {
	text = strings.Trim(unsafeInNames.ReplaceAllString(text, "-"), "-")
	return text[:min(len(text), 80)]
}
