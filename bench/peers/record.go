package main

import (
	"slices"

	"github.com/redislanes/redislanes/bench/internal/stats"
)

// A cell is one measurement's place.
type cell struct {
	tls      bool
	callers  int
	scenario string
	client   string
}

// A record is what was measured, in one run or in several.
type record struct {
	starts []start
	most   map[bool]float64 // commands a second of redis-benchmark, by TLS; none: not measured
	turns  map[cell][]turn
	cuts   []cutTurn
	parts  []partTurn

	leaseTurns []leaseTurn

	over      []bool // TLS or not; this and what follows in the order of the turns
	callers   []int
	scenarios []string
	clients   []string
}

func newRecord() *record {
	return &record{most: make(map[bool]float64), turns: make(map[cell][]turn)}
}

func (r *record) add(t turn) {
	r.over = withNew(r.over, t.TLS)
	r.callers = withNew(r.callers, t.Callers)
	r.scenarios = withNew(r.scenarios, t.Scenario)
	r.clients = withNew(r.clients, t.Client)
	r.turns[t.cell()] = append(r.turns[t.cell()], t)
}

func withNew[T comparable](all []T, one T) []T {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// over returns the figure in the rounds of a cell.
func (f figure) over(turns []turn) stats.Spread {
	var values []float64
	for _, t := range turns {
		values = append(values, f.of(t))
	}
	return stats.Of(values)
}

// ratio returns one's figure to the other's, round by round. There is none if they
// have no round in common, or if the figure was zero.
func (f figure) ratio(one, other []turn) (s stats.Spread, ok bool) {
	var values []float64
	for _, t := range one {
		for _, o := range other {
			if o.Round == t.Round && f.of(o) > 0 {
				values = append(values, f.of(t)/f.of(o))
			}
		}
	}
	if len(values) == 0 {
		return s, false
	}
	return stats.Of(values), true
}
