package page

import (
	_ "embed" // of the page's template
	"html/template"
	"io"

	"github.com/redislanes/redislanes/bench/compare/internal/plot"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

//go:embed page.html
var text string

var page = template.Must(template.New("page").Parse(text))

// data is what the template shows.
type data struct {
	*report.Report
	Heading string
	Over    []figure
	Parts   []part
}

// A part is the figures of one run.
type part struct {
	Title   string
	Figures []figure
}

type figure struct {
	Title string
	SVG   template.HTML
}

// Write writes the page.
func Write(r *report.Report, w io.Writer) error {
	d := data{Report: r, Heading: r.Question}
	if d.Heading == "" {
		d.Heading = r.File
	}
	over, err := plot.Over(r)
	if err != nil {
		return err
	}
	d.Over = figures(over)
	for _, run := range r.Runs {
		drawn, err := plot.OfRun(run)
		if err != nil {
			return err
		}
		d.Parts = append(d.Parts, part{run.Title(), figures(drawn)})
	}
	return page.Execute(w, d)
}

// figures takes the SVG as it is: package plot wrote it, with all texts escaped.
func figures(drawings []plot.Drawing) (all []figure) {
	for _, d := range drawings {
		all = append(all, figure{d.Title, template.HTML(d.SVG)})
	}
	return all
}
