package report

import (
	_ "embed" // of the page's template
	"fmt"
	"html/template"
	"io"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// pageData is what the template shows.
type pageData struct {
	*Report
	Target       string
	Figures      []figure
	Columns      []string
	Rows         []pageRow
	Lines        []Line
	FailureHead  []string
	Failures     [][]string
	LeastRate    string
	MostFailures string
}

type pageRow struct {
	Verdict verdict.Verdict
	Cells   []string
}

// WriteHTML writes the report as a page that needs no other file.
func (r *Report) WriteHTML(w io.Writer) error {
	figures, err := r.figures()
	if err != nil {
		return err
	}
	data := pageData{
		Report: r, Target: r.target(), Figures: figures, Lines: r.Lines(), FailureHead: failureHead, Failures: r.failures(),
		LeastRate: whole(verdict.LeastRate), MostFailures: whole(verdict.MostFailures),
	}
	for _, c := range columns {
		data.Columns = append(data.Columns, c.head)
	}
	for _, s := range r.Steps {
		row := pageRow{Verdict: s.Verdict}
		for _, c := range columns {
			row.Cells = append(row.Cells, c.of(s))
		}
		data.Rows = append(data.Rows, row)
	}
	return page.Execute(w, data)
}

// target is the service that was measured.
func (r *Report) target() string {
	for _, s := range r.Settings {
		if s.Name == "target" && s.Value != "" {
			return s.Value
		}
	}
	return "a rate-limit service"
}

func whole(share float64) string { return fmt.Sprintf("%.0f %%", share*100) }
