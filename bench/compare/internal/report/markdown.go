package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/bench/table"
)

// Markdown returns a table for a page: one that WriteTable prints, which are figures,
// limits, sizes, resources and connections, or "ratios" and the names of figures,
// of all endpoints or "of" those with certain words in their names, or "only" and columns
// of the figures.
func (r *Report) Markdown(name string) (string, error) {
	t, err := r.tableOf(name)
	if err != nil {
		return "", err
	}
	if t == nil || len(t.Rows) == 0 {
		return "", errors.New("the raw file has no such table")
	}
	return t.String(), nil
}

func (r *Report) tableOf(name string) (*table.Table, error) {
	for known, t := range map[string]func() *table.Table{
		"figures": r.figures, "limits": r.limitTable, "sizes": r.sizeTable, "resources": r.resourceTable, "connections": r.connectionTable,
	} {
		if known == name {
			return t(), nil
		}
	}
	if names, ok := strings.CutPrefix(name, "ratios "); ok {
		return r.ratios(names)
	}
	if columns, ok := strings.CutPrefix(name, "only "); ok {
		return only(r.figures(), columns)
	}
	return nil, nil
}

// only returns the text columns and those that are asked for, as in "req/s, P99 of
// round_trip=1ms fixed-": of rows that have all of these words in a text.
func only(t *table.Table, asked string) (*table.Table, error) {
	names, words, _ := strings.Cut(asked, " of ")
	short := &table.Table{Text: t.Text}
	var columns []int
	for i := range t.Text {
		columns = append(columns, i)
	}
	for name := range strings.SplitSeq(names, ", ") {
		i := slices.Index(t.Head, name)
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
	short.Head = pick(t.Head)
	for _, row := range t.Rows {
		texts := strings.Join(row[:t.Text], " ")
		if hasAll(texts, strings.Fields(words)) {
			short.Add(pick(row)...)
		}
	}
	return short, nil
}
