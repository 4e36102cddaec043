package report

import (
	"errors"
	"strings"
)

// Markdown returns a table for a page: one that WriteTable prints, which are figures,
// limits, sizes, errors, resources and connections, or "ratios" and the names of figures,
// of all endpoints or "of" those with certain words in their names.
func (r *Report) Markdown(name string) (string, error) {
	t, err := r.tableOf(name)
	if err != nil {
		return "", err
	}
	if t == nil || len(t.rows) == 0 {
		return "", errors.New("the raw file has no such table")
	}
	var text strings.Builder
	t.write(&text)
	return text.String(), nil
}

func (r *Report) tableOf(name string) (*table, error) {
	switch name {
	case "figures":
		return r.figures(), nil
	case "limits":
		return r.limitTable(), nil
	case "sizes":
		return r.sizeTable(), nil
	case "errors":
		return r.errorTable(), nil
	case "resources":
		return r.resourceTable(), nil
	case "connections":
		return r.connectionTable(), nil
	}
	if names, ok := strings.CutPrefix(name, "ratios "); ok {
		return r.ratios(names)
	}
	return nil, nil
}
