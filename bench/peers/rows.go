package main

import (
	"fmt"

	"github.com/redislanes/redislanes/bench/table"
)

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
