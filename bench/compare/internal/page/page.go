package page

import (
	"bytes"
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
	var err error
	if d.Over, err = figures(plot.Over(r)); err != nil {
		return err
	}
	for _, run := range r.Runs {
		drawn, err := figures(plot.OfRun(run))
		if err != nil {
			return err
		}
		d.Parts = append(d.Parts, part{run.Title(), drawn})
	}
	return page.Execute(w, d)
}

// figures takes the SVG as it is: package chart wrote it, with all texts escaped.
func figures(all []plot.Figure) (drawn []figure, err error) {
	for _, f := range all {
		svg, err := f.SVG()
		if err != nil {
			return nil, err
		}
		svg = svg[bytes.Index(svg, []byte("<svg")):] // without the head of a file
		drawn = append(drawn, figure{f.Title, template.HTML(svg)})
	}
	return drawn, nil
}
