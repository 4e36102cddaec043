package report

import (
	_ "embed" // of the page's template
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// WriteHTML writes the report as a page that needs no other file.
func (r *Report) WriteHTML(w io.Writer) error {
	figures, err := r.figures()
	if err != nil {
		return err
	}
	data := map[string]any{
		"Report": r, "Target": "a rate-limit service", "Machine": r.machine(), "Lines": r.lines(),
		"Steps": r.steps(), "Figures": figures, "Failures": r.failures(),
	}
	for _, s := range r.Settings {
		if s.Name == "target" {
			data["Target"] = s.Value
		}
	}
	return page.Execute(w, data)
}
