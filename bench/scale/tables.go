package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/internal/stats"
	"github.com/redislanes/redislanes/bench/rawfile"
	"github.com/redislanes/redislanes/bench/table"
)

// tableOf makes a table of the pages: source, client, cluster, memory or connections.
func tableOf(t pages.Table) (string, error) {
	if len(t.Files) != 1 {
		return "", errors.New("want one raw file")
	}
	r, err := readRaw(t.Files[0])
	if err != nil {
		return "", err
	}
	if t.Name == "source" {
		return rawfile.Source(r.machine), nil
	}
	made := map[string]func() *table.Table{
		"client": r.clientTable, "cluster": r.largeTable, "memory": r.footprintTable, "connections": r.connectionTable,
	}[t.Name]
	if made == nil {
		return "", errors.New("want one of source, client, cluster, memory and connections")
	}
	if text := made().String(); text != "" {
		return text, nil
	}
	return "", errors.New("the raw file has nothing for it")
}

// clientTable has a row for each load and shape, with the medians of the rounds for one
// processor and for two.
func (r *record) clientTable() *table.Table {
	t := table.New("keys", "nodes × lanes", "callers", "req/s, 1 processor", "CPU/req", "req/s, 2 processors", "CPU/req", "2 to 1", "waiting for locks/req")
	type cell struct{ keys, nodes, lanes, callers int }
	of := make(map[cell]map[int][]carried)
	var order []cell
	for _, c := range r.clients {
		at := cell{c.Keys, c.Nodes, c.Lanes, c.Callers}
		if of[at] == nil {
			of[at] = make(map[int][]carried)
			order = append(order, at)
		}
		of[at][c.Procs] = append(of[at][c.Procs], c)
	}
	slices.SortStableFunc(order, func(a, b cell) int { return a.keys - b.keys })
	for _, at := range order {
		one, two := of[at][1], of[at][2]
		var ratios []float64
		for i := range min(len(one), len(two)) {
			ratios = append(ratios, two[i].rate()/one[i].rate())
		}
		t.Add(
			fmt.Sprint(at.keys), fmt.Sprintf("%d × %d", at.nodes, at.lanes), fmt.Sprint(at.callers),
			rates(one), cpus(one), rates(two), cpus(two), stats.Of(ratios).String(), table.Nanoseconds(median(two, func(c carried) float64 { return float64(c.perRequest(c.LockWait)) })),
		)
	}
	return t
}

func rates(of []carried) string {
	return fmt.Sprintf("%.0f", median(of, carried.rate))
}

func cpus(of []carried) string {
	return table.Nanoseconds(median(of, func(c carried) float64 { return float64(c.perRequest(c.CPU)) }))
}

func (r *record) largeTable() *table.Table {
	t := table.New("", "3 primaries", "50", "500")
	of := make(map[int][]large)
	for _, l := range r.large {
		of[l.Primaries] = append(of[l.Primaries], l)
	}
	if len(of) == 0 {
		return t
	}
	for _, f := range []struct {
		name string
		of   func(large) float64
		text func(float64) string
	}{
		{"start, with the first map", func(l large) float64 { return float64(l.Start) }, table.Nanoseconds},
		{"heap then", func(l large) float64 { return float64(l.StartHeap) }, table.Bytes},
		{"a refresh of the map", func(l large) float64 { return float64(l.Refresh) }, table.Nanoseconds},
		{"its CPU", func(l large) float64 { return float64(l.RefreshCPU) }, table.Nanoseconds},
		{"what it allocates", func(l large) float64 { return float64(l.Refreshed) }, table.Bytes},
		{"first request of 1,000 keys, which dials", func(l large) float64 { return float64(l.First) }, table.Nanoseconds},
		{"connections in the end", func(l large) float64 { return float64(l.Connections) }, number},
		{"heap with them", func(l large) float64 { return float64(l.Heap) }, table.Bytes},
		{"goroutines", func(l large) float64 { return float64(l.Goroutines) }, number},
		{"1,000 keys, one caller", func(l large) float64 { return float64(l.One.perRequest(l.One.Took)) }, table.Nanoseconds},
		{"its CPU", func(l large) float64 { return float64(l.One.perRequest(l.One.CPU)) }, table.Nanoseconds},
		{"its allocations", func(l large) float64 { return float64(l.One.Mallocs) / float64(l.One.Requests) }, tenths},
		{fmt.Sprint("req/s of ", largeCallers, " callers"), func(l large) float64 { return l.Many.rate() }, number},
		{"CPU of a request", func(l large) float64 { return float64(l.Many.perRequest(l.Many.CPU)) }, table.Nanoseconds},
	} {
		row := []string{f.name}
		for _, primaries := range wholeLargePlan.primaries {
			row = append(row, f.text(median(of[primaries], f.of)))
		}
		t.Add(row...)
	}
	return t
}

func median[T any](of []T, figure func(T) float64) float64 {
	var values []float64
	for _, one := range of {
		values = append(values, figure(one))
	}
	return stats.Median(values)
}

func number(v float64) string { return fmt.Sprintf("%.0f", v) }
func tenths(v float64) string { return fmt.Sprintf("%.1f", v) }
