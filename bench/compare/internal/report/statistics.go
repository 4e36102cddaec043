package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/redislanes/redislanes/bench/compare/internal/stats"
)

// WriteStatistics prints all percentiles and moments, and the tests of each
// endpoint against the first of its run.
func (r *Report) WriteStatistics(w io.Writer) {
	head := []string{"run", "endpoint"}
	for _, percent := range stats.Percents {
		head = append(head, fmt.Sprintf("P%v", percent))
	}
	head = append(head, "mean", "std. dev.", "CV", "skewness", "exc. kurtosis")
	t := &table{text: 2, head: head}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		name := e.RowName(p)
		t.latency(run.Name, name, p.Latency)
		for _, k := range p.parts() {
			t.latency(run.Name, name+", "+k.name, *k.latency)
		}
	})
	say(w, "\nLatencies:\n\n")
	t.write(w)
	r.writeTests(w)
}

func (t *table) latency(run, name string, l Latency) {
	row := []string{run, name}
	for _, p := range l.Percentiles {
		row = append(row, duration(time.Duration(p.Value)))
	}
	t.add(append(row, duration(time.Duration(l.Mean)), duration(time.Duration(l.StdDev)),
		fmt.Sprintf("%.2f", l.CV), fmt.Sprintf("%.2f", l.Skewness), fmt.Sprintf("%.2f", l.Kurtosis))...)
}

func (r *Report) writeTests(w io.Writer) {
	t := &table{text: 3, head: []string{"run", "endpoint", "figure", "to the first", "p", "rounds", "differs"}}
	r.each(func(run *Run, e *Endpoint, p *Phase) {
		for _, f := range figures {
			if test, ok := p.Tests[f.name]; ok {
				t.add(run.Name, e.Name, f.name, fmt.Sprintf("%.2f x", test.Ratio), fmt.Sprintf("%.3f", test.P),
					fmt.Sprintf("%d, %d", test.N[0], test.N[1]), differs(test))
			}
		}
	})
	if len(t.rows) == 0 {
		return
	}
	say(w, "\nEach endpoint against the first of its run: ratio of the medians of the rounds, and two-sided p of the\n"+
		"Mann-Whitney U test over one value a round. (Single latencies depend on each other, and with millions of them\n"+
		"every difference is \"significant\".) With three rounds p cannot be below 0.1; with four it can reach 0.029.\n"+
		"Of %d tests, about %.0f at p < %v would be chance.\n\n", len(t.rows), float64(len(t.rows))*stats.Alpha, stats.Alpha)
	t.write(w)
}

func differs(t stats.Test) string {
	if t.Significant() {
		return "yes"
	}
	return "~"
}

// WriteJSON writes everything.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
