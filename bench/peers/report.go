package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/redislanes/redislanes/bench/internal/stats"
	"github.com/redislanes/redislanes/bench/internal/usage"
	"github.com/redislanes/redislanes/bench/table"
)

// report prints one table for each number of callers, and the goals.
func (r *record) report(w io.Writer) {
	for _, s := range r.starts {
		table.Print(w, "%v\n", s)
	}
	for _, callers := range r.callers {
		table.Print(w, "\n%d callers, medians of the rounds\n\n%v", callers, r.figures(callers))
	}
	for _, t := range []*table.Table{r.cutTable(), r.leaseTable(), r.partTable()} {
		if len(t.Rows) > 0 {
			table.Print(w, "\n%v", t)
		}
	}
	if len(r.turns) > 0 {
		if goals, text := r.goals(); len(goals.Rows) > 0 {
			table.Print(w, "\ngoals: ours to theirs\n\n%v\n%s\n", goals, text)
		}
	}
}

// figures is the table for a number of callers. A scenario over TLS has rows of its own.
func (r *record) figures(callers int) *table.Table {
	t := table.New("scenario", "client", "req/s", "of rounds", "p50", "p99", "p99.9", "CPU/req", "allocs/req", "reads/req", "writes/req", "INCRBY/key")
	for _, tls := range r.over {
		for _, s := range r.scenarios {
			for _, client := range r.clients {
				turns := r.turns[cell{tls, callers, s, client}]
				if len(turns) == 0 {
					continue
				}
				of := func(f figure) float64 { return f.over(turns).Median }
				rates := rate.over(turns)
				t.Add(overText(s, tls), client, fmt.Sprintf("%.0f", rates.Median), fmt.Sprintf("%.0f to %.0f", rates.Low, rates.High),
					table.Nanoseconds(of(p50)), table.Nanoseconds(of(p99)), table.Nanoseconds(of(p999)), table.Nanoseconds(of(cpu)), fmt.Sprintf("%.1f", of(allocs)),
					fmt.Sprintf("%.3f", of(reads)), fmt.Sprintf("%.3f", of(writes)), fmt.Sprintf("%.3f", of(incrby)))
			}
		}
	}
	return t
}

func overText(scenario string, tls bool) string {
	if tls {
		return scenario + " over TLS"
	}
	return scenario
}

// goals is the table of goals, and how many of them are reached.
func (r *record) goals() (*table.Table, string) {
	t := table.New("callers", "scenario", "ours", "figure", "beside", "goal", "median", "in rounds", "")
	reached, all := 0, 0
	add := func(g goal, tls bool, ratio stats.Spread, mode string) {
		verdict, sign := "reached", "≤"
		if g.atLeast {
			sign = "≥"
		}
		if all++; g.reached(ratio.Median) {
			reached++
		} else {
			verdict = "**short**"
		}
		t.Add(fmt.Sprint(g.callers), overText(g.scenario, tls), g.who, g.figure.name, mode, fmt.Sprintf("%s %.2f", sign, g.threshold),
			fmt.Sprintf("%.2f", ratio.Median), fmt.Sprintf("%.2f to %.2f", ratio.Low, ratio.High), verdict)
	}
	for _, tls := range r.over {
		for _, g := range goals() {
			if ratio, mode := g.ratio(r, tls); mode != "" {
				add(g, tls, ratio, mode)
			}
		}
		ours, limit := r.turns[cell{tls, limitCallers, "mixed_10keys", oursAlone}], r.most[tls]
		if len(ours) > 0 && limit > 0 {
			share := rate.over(ours)
			commands := float64(2*ours[0].Keys) / limit
			add(goal{callers: limitCallers, scenario: "mixed_10keys", who: oursAlone, figure: figure{name: "commands/s"}, atLeast: true, threshold: limitShare},
				tls, share.Times(commands), fmt.Sprintf("redis-benchmark -P 32 (%.0f)", limit))
		}
	}
	return t, fmt.Sprintf("%d of %d goals reached.", reached, all)
}

// ratios is the table of a figure of one of ours in all scenarios, beside the best of the
// others or, of Counters, beside our pipeline. What is short of its goal is in bold.
func (r *record) ratios(who string, besidePipeline bool, f figure) *table.Table {
	callers := slices.Sorted(slices.Values(r.callers))
	head := []string{"scenario"}
	for _, n := range callers {
		head = append(head, plural(n, "caller"))
	}
	t := table.New(head...)
	for _, tls := range r.over {
		for _, s := range r.scenarios {
			row, any := []string{overText(s, tls)}, false
			for _, n := range callers {
				cell := r.ratioText(goal{callers: n, scenario: s, who: who, figure: f}, besidePipeline, tls)
				row, any = append(row, cell), any || cell != ""
			}
			if any {
				t.Add(row...)
			}
		}
	}
	return t
}

// ratioText is the ratio of the goal of this place and figure; empty if there is none.
func (r *record) ratioText(of goal, besidePipeline, tls bool) string {
	for _, g := range goals() {
		if g.callers != of.callers || g.scenario != of.scenario || g.who != of.who || g.figure.name != of.figure.name ||
			len(g.beside) == 0 || besidePipeline != (g.beside[0] == oursAlone) {
			continue
		}
		ratio, mode := g.ratio(r, tls)
		if mode == "" {
			continue
		}
		text := ratio.String()
		if !g.reached(ratio.Median) {
			text = "**" + text + "**"
		}
		return text
	}
	return ""
}

func plural(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprint(n, " ", of)
}

// disturbed warns of turns in which other processes used much of the processors.
func (r *record) disturbed() string {
	all, bad := 0, 0
	most := usage.Disturbed * float64(r.starts[0].Machine.CPUs)
	for _, turns := range r.turns {
		for _, t := range turns {
			if all++; float64(t.Others) > most*float64(t.Took) {
				bad++
			}
		}
	}
	return usage.Warning(bad, all, "turns")
}

var (
	cpuPerKey = figure{"CPU/key", func(t turn) float64 { return cpu.of(t) / float64(t.Keys) }}
	megabytes = figure{"MB allocated/req", func(t turn) float64 { return t.perRequest(float64(t.Allocated)) / 1e6 }}
)

// newRows is a table with a row for each load and client, whatever the loads differ in.
func newRows() *table.Table {
	return table.New("primaries", "callers", "scenario", "keys", "client", "req/s", "of rounds", "p50", "p99", "CPU/req", "CPU/key", "allocs/req",
		megabytes.name, "reads/req", "writes/req")
}

// rowsOf has the rows of each file: they may have been measured with other numbers of primaries.
func rowsOf(files []string) (string, error) {
	t := newRows()
	for _, name := range files {
		r, err := readRaw([]string{name})
		if err != nil {
			return "", err
		}
		r.addRows(t)
	}
	return t.String(), nil
}

func (r *record) addRows(t *table.Table) {
	for _, tls := range r.over {
		for _, s := range r.scenarios {
			for _, callers := range r.callers {
				for _, client := range r.clients {
					turns := r.turns[cell{tls, callers, s, client}]
					if len(turns) == 0 {
						continue
					}
					of := func(f figure) float64 { return f.over(turns).Median }
					rates := rate.over(turns)
					t.Add(fmt.Sprint(r.starts[0].Primaries), fmt.Sprint(callers), overText(s, tls), fmt.Sprint(turns[0].Keys), client,
						table.Number(rates.Median), table.Number(rates.Low)+" to "+table.Number(rates.High), table.Nanoseconds(of(p50)), table.Nanoseconds(of(p99)),
						table.Nanoseconds(of(cpu)), table.Nanoseconds(of(cpuPerKey)), fmt.Sprintf("%.1f", of(allocs)), fmt.Sprintf("%.3f", of(megabytes)),
						fmt.Sprintf("%.3f", of(reads)), fmt.Sprintf("%.3f", of(writes)))
				}
			}
		}
	}
}
