package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/chart"
	"github.com/redislanes/redislanes/bench/internal/stats"
	"github.com/redislanes/redislanes/bench/table"
)

// ratioFigures have goals.
var ratioFigures = []figure{rate, p99, cpu}

// tableOf makes a table of the pages from raw files: one of
//
//	source        what was measured, and with what
//	callers N     the figures for a number of callers
//	goals         which goals are reached
//	reached       how many
//	rows          a row for each load and client, of files that may have other numbers of primaries
//	radix         requests a second of radix by the size of its pools; a file for each round trip
//	parts         what clients spend their time on
//	WHO to others, FIGURE, and
//	WHO to ours, FIGURE: the ratios of one of ours, over callers
//	leases        a key with leases and without, by its rate
//	cuts          what became of commands when connections were cut
func tableOf(t pages.Table) (string, error) {
	r, err := readRaw(t.Files)
	if err != nil {
		return "", err
	}
	text := ""
	var callers int
	n, _ := fmt.Sscanf(t.Name, "callers %d", &callers)
	sides, of, isRatio := strings.Cut(t.Name, ", ")
	who, beside, _ := strings.Cut(sides, " to ")
	switch {
	case n == 1:
		text = r.figures(callers).String()
	case isRatio && (beside == "ours" || beside == "others"):
		f := slices.IndexFunc(ratioFigures, func(f figure) bool { return f.name == of })
		if f < 0 {
			return "", fmt.Errorf("no ratios of %s", of)
		}
		text = r.ratios(who, beside == "ours", ratioFigures[f]).String()
	case t.Name == "reached":
		_, text = r.goals()
	case t.Name == "goals":
		goals, reached := r.goals()
		text = goals.String() + "\n" + reached
	case t.Name == "rows":
		text, err = rowsOf(t.Files)
	case t.Name == "radix":
		text, err = radixTable(t.Files)
	case t.Name == "parts":
		text = r.partTable().String()
	case t.Name == "leases":
		text = r.leaseTable().String()
	case t.Name == "cuts":
		text = r.cutTable().String()
	case t.Name == "source":
		for _, s := range r.starts {
			text += "- " + s.String() + "\n"
		}
	default:
		return "", errors.New("want one of source, callers N, goals, reached, rows, radix, parts, leases, cuts, and WHO to others, FIGURE")
	}
	if err == nil && text == "" {
		err = errors.New("the raw files have nothing for it")
	}
	return text, err
}

// picture draws throughput or leases.
func picture(t pages.Table) ([]byte, error) {
	r, err := readRaw(t.Files)
	if err != nil {
		return nil, err
	}
	switch t.Name {
	case "throughput":
		return r.throughput().SVG()
	case "leases":
		return r.leaseChart().SVG()
	}
	return nil, errors.New("want throughput or leases")
}

// throughput is requests a second of ours, and of the best mode of each other client.
func (r *record) throughput() *chart.Chart {
	c := &chart.Chart{Title: "Requests per second, 3 primaries, 2 cores"}
	over := chart.Axis{Label: "callers"}
	for _, n := range r.callers {
		over.Add(float64(n), fmt.Sprint(n))
	}
	for _, scenario := range []struct{ name, title string }{
		{"variable_key", "A request of one key"}, {"mixed_10keys", "A request of ten keys"},
	} {
		p := chart.Panel{Title: scenario.title, X: over}
		for _, client := range []struct{ name, of string }{
			{"redislanes, default settings", oursAlone}, {"rueidis, its best mode", "rueidis"},
			{"go-redis, its best mode", "go-redis"}, {"radix, its best mode", "radix"},
		} {
			p.Lines = append(p.Lines, chart.Line{Name: client.name, Points: r.best(scenario.name, client.of)})
		}
		c.Panels = append(c.Panels, p)
	}
	return c
}

// best is requests a second by callers, over TCP: for each number of them those of the client's
// mode with the highest median of the rounds.
func (r *record) best(scenario, client string) (points []chart.Point) {
	g := goal{beside: []string{client}}
	for _, n := range slices.Sorted(slices.Values(r.callers)) {
		var best stats.Spread
		for _, mode := range r.clients {
			if rounds := r.turns[cell{false, n, scenario, mode}]; g.isBeside(mode) && len(rounds) > 0 {
				if s := rate.over(rounds); s.Median > best.Median {
					best = s
				}
			}
		}
		points = append(points, chart.Point{X: float64(n), Y: best.Median, Low: best.Low, High: best.High})
	}
	return points
}

// radixTable is requests a second of radix by the size of its pools, and the ratios of slots at
// once to one after the other. It has rows for each scenario and file, which have a round trip each.
func radixTable(files []string) (string, error) {
	head := []string{"scenario", "round trip added", "slots"}
	for _, size := range radixSizes {
		head = append(head, fmt.Sprint("pools of ", size))
	}
	t := table.New(head...)
	var records []*record
	for _, name := range files {
		r, err := readRaw([]string{name})
		if err != nil {
			return "", err
		}
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b *record) int { return cmp.Compare(a.starts[0].RoundTrip, b.starts[0].RoundTrip) })
	for _, s := range scenarios {
		for _, r := range records {
			r.addRadix(t, s.name)
		}
	}
	return t.String(), nil
}

func (r *record) addRadix(t *table.Table, scenario string) {
	trip := table.Duration(r.starts[0].RoundTrip)
	sequential, parallel, ratios := []string{scenario, trip, "one after the other"}, []string{scenario, trip, "at once"}, []string{scenario, trip, "ratio"}
	for _, size := range radixSizes {
		one := r.turns[cell{false, r.callers[0], scenario, radixName(size, false)}]
		all := r.turns[cell{false, r.callers[0], scenario, radixName(size, true)}]
		ratio, ok := rate.ratio(all, one)
		if !ok {
			return
		}
		sequential, parallel = append(sequential, rate.cell(one)), append(parallel, rate.cell(all))
		ratios = append(ratios, ratio.String())
	}
	if r.turns[cell{false, r.callers[0], scenario, radixName(radixSizes[0], true)}][0].Keys == 1 {
		sequential[2] = "one"
		t.Add(sequential...)
		return
	}
	t.Add(sequential...)
	t.Add(parallel...)
	t.Add(ratios...)
}

// cell is the median of the rounds, with the least and the most.
func (f figure) cell(turns []turn) string {
	s := f.over(turns)
	return fmt.Sprintf("%s (%s to %s)", table.Number(s.Median), table.Number(s.Low), table.Number(s.High))
}
