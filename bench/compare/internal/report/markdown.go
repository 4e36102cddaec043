package report

import "strings"

// Markdown returns one of the tables that WriteTable prints: figures, limits, sizes,
// errors or resources. It is empty if there is no such table, or if it has no rows.
func (r *Report) Markdown(name string) string {
	var t *table
	switch name {
	case "figures":
		t = r.figures()
	case "limits":
		t = r.limitTable()
	case "sizes":
		t = r.sizeTable()
	case "errors":
		t = r.errorTable()
	case "resources":
		t = r.resourceTable()
	}
	if t == nil || len(t.rows) == 0 {
		return ""
	}
	var text strings.Builder
	t.write(&text)
	return text.String()
}
