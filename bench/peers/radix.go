package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redislanes/redislanes/bench/table"
)

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
