package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/bench/internal/stats"
	"github.com/redislanes/redislanes/bench/table"
)

// A comparable is a figure of which the ratio of two endpoints says something.
type comparable struct {
	name string
	of   func(Round) float64
	text func(float64) string
}

var comparables = []comparable{
	{"req/s", func(r Round) float64 { return r.Rate }, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
	{"P50", func(r Round) float64 { return r.P50 }, table.Nanoseconds},
	{"P99", func(r Round) float64 { return r.P99 }, table.Nanoseconds},
	{"fast P50", func(r Round) float64 { return r.FastP50 }, table.Nanoseconds},
	{"fast P99", func(r Round) float64 { return r.FastP99 }, table.Nanoseconds},
	{"slow P50", func(r Round) float64 { return r.SlowP50 }, table.Nanoseconds},
	{"slow P99", func(r Round) float64 { return r.SlowP99 }, table.Nanoseconds},
	{"CPU/req", func(r Round) float64 { return r.CPU }, table.Nanoseconds},
}

// ratios is a table of figures beside those of the first endpoint, which has its own:
// the medians of the ratios round by round, with the lowest and the highest. One figure
// has a row for each run and a column for each endpoint, or the other way round if
// there are more endpoints; several, of one run, have a column each. "req/s of fixed
// node" are those of the endpoints that have both words in their names.
func (r *Report) ratios(asked string) (*table.Table, error) {
	names, words, _ := strings.Cut(asked, " of ")
	var of []comparable
	for _, name := range strings.Split(names, ", ") {
		i := slices.IndexFunc(comparables, func(c comparable) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no ratios of %q", name)
		}
		of = append(of, comparables[i])
	}
	lines := r.lines(strings.Fields(words))
	switch {
	case len(lines) == 0:
		return nil, errors.New("nothing was measured")
	case len(of) > 1 && len(lines) > 1:
		return nil, errors.New("ratios of several figures are of one run")
	case len(of) > 1 || len(lines[0].phases) > len(lines):
		return byEndpoint(lines, of), nil
	}
	t := &table.Table{Text: 1, Head: []string{"run"}}
	for _, p := range lines[0].phases {
		t.Head = append(t.Head, p.endpoint.Name)
	}
	for _, l := range lines {
		row := []string{l.name}
		for _, p := range l.phases {
			row = append(row, p.beside(l.phases[0], of[0]))
		}
		t.Add(row...)
	}
	return t, nil
}

func byEndpoint(lines []line, of []comparable) *table.Table {
	t := &table.Table{Text: 1, Head: []string{"endpoint"}}
	for _, l := range lines {
		for _, c := range of {
			name := l.name
			if len(of) > 1 {
				name = c.name
			}
			t.Head = append(t.Head, name)
		}
	}
	for i, p := range lines[0].phases {
		row := []string{p.endpoint.Name}
		for _, l := range lines {
			for _, c := range of {
				row = append(row, l.phases[i].beside(l.phases[0], c))
			}
		}
		t.Add(row...)
	}
	return t
}

// A line is what was measured side by side: a run, or a step of one.
type line struct {
	name   string
	phases []endpointPhase
}

type endpointPhase struct {
	endpoint *Endpoint
	*Phase
}

func (r *Report) lines(words []string) (all []line) {
	for _, run := range r.Runs {
		for i := range run.Endpoints[0].Phases {
			l := line{name: run.Name}
			for _, e := range run.Endpoints {
				if i < len(e.Phases) && hasAll(e.Name, words) {
					l.phases = append(l.phases, endpointPhase{e, e.Phases[i]})
				}
			}
			if len(l.phases) == 0 {
				continue
			}
			if len(run.Endpoints[0].Phases) > 1 {
				l.name = fmt.Sprintf("%s [%d] %d callers", run.Name, i+1, l.phases[0].Callers)
			}
			all = append(all, l)
		}
	}
	return all
}

func hasAll(name string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(name, word) })
}

// beside returns the figure beside that of the first, which has it by itself.
func (p endpointPhase) beside(first endpointPhase, of comparable) string {
	if p.endpoint == first.endpoint {
		return of.text(stats.Median(whole(p.PerRound, of.of)))
	}
	var ratios []float64
	for i, round := range p.PerRound {
		if i < len(first.PerRound) && !round.Partial && !first.PerRound[i].Partial && of.of(first.PerRound[i]) > 0 {
			ratios = append(ratios, of.of(round)/of.of(first.PerRound[i]))
		}
	}
	if len(ratios) == 0 {
		return ""
	}
	return stats.Of(ratios).String()
}

// Markdown returns a table for a page: one that WriteTable prints, which are figures, limits,
// sizes, resources and connections, or "ratios" and the names of figures, of all endpoints or "of"
// those with certain words in their names, or "only" and columns of the figures.
func (r *Report) Markdown(name string) (text string, err error) {
	t := new(table.Table)
	known := map[string]func() *table.Table{
		"figures": r.figures, "limits": r.limitTable, "sizes": r.sizeTable, "resources": r.resourceTable, "connections": r.connectionTable,
	}[name]
	names, isRatios := strings.CutPrefix(name, "ratios ")
	columns, isOnly := strings.CutPrefix(name, "only ")
	switch {
	case known != nil:
		t = known()
	case isRatios:
		t, err = r.ratios(names)
	case isOnly:
		t, err = only(r.figures(), columns)
	}
	if err == nil && len(t.Rows) == 0 {
		err = errors.New("the raw file has no such table")
	}
	if err != nil {
		return "", err
	}
	return t.String(), nil
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
