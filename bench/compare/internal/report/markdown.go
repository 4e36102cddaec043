package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Markdown returns a table for a page: one that WriteTable prints, which are figures,
// limits, sizes, errors, resources and connections, or "ratios" and the names of figures,
// of all endpoints or "of" those with certain words in their names, or "only" and columns
// of the figures.
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
	if columns, ok := strings.CutPrefix(name, "only "); ok {
		return r.figures().only(columns)
	}
	return nil, nil
}

// only returns the text columns and those that are asked for, as in "req/s, P99 of
// round_trip=1ms fixed-": of rows that have all of these words in a text.
func (t *table) only(asked string) (*table, error) {
	names, words, _ := strings.Cut(asked, " of ")
	short := &table{text: t.text}
	var columns []int
	for i := range t.text {
		columns = append(columns, i)
	}
	for name := range strings.SplitSeq(names, ", ") {
		i := slices.Index(t.head, name)
		if i < 0 {
			return nil, fmt.Errorf("figures have no column %q", name)
		}
		columns = append(columns, i)
	}
	pick := func(row []string) (cells []string) {
		for _, i := range columns {
			cells = append(cells, row[i])
		}
		return cells
	}
	short.head = pick(t.head)
	for _, row := range t.rows {
		texts := strings.Join(row[:t.text], " ")
		if !slices.ContainsFunc(strings.Fields(words), func(word string) bool { return !strings.Contains(texts, word) }) {
			short.add(pick(row)...)
		}
	}
	return short, nil
}
