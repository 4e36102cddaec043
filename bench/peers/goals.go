package main

import (
	"slices"
	"strings"

	"github.com/redislanes/redislanes/bench/internal/stats"
)

// A goal is a ratio of ours to a rival's that is to be reached in each round's
// median: to that of the rivals' modes which is best in this figure. Where it is
// beside nobody, it is about our figure itself.
type goal struct {
	callers   int
	scenario  string
	who       string   // of ours
	beside    []string // what the names of the rivals' modes begin with
	figure    figure
	atLeast   bool // else at most
	threshold float64
}

const oursAlone = "ours"

var (
	rivals = []string{"rueidis", "go-redis", "radix"}
	usual  = []int{1, 2, 4, 8, 16}
	many   = []int{100, 1000}
	anyone = slices.Concat(usual, many)
)

// goals returns what is to be reached.
func goals() (all []goal) {
	add := func(callers []int, requests, tail, time float64, names ...string) {
		for _, n := range callers {
			for _, s := range names {
				all = append(all, goal{n, s, oursAlone, rivals, rate, true, requests},
					goal{n, s, oursAlone, rivals, p99, false, tail}, goal{n, s, oursAlone, rivals, cpu, false, time})
			}
		}
	}
	add(usual, 1, 1, 1, "fixed_key", "variable_key", "mixed_2keys")
	add(usual, 1, 1, 0.6, "mixed_10keys")
	add(many, 1.1, 0.9, 0.9, "fixed_key") // the server is the limit
	add(many, 1.4, 0.8, 0.6, "variable_key", "mixed_2keys")
	add(many, 1.4, 0.7, 0.35, "mixed_10keys")
	for _, n := range many {
		all = append(all, goal{n, "fixed_key", counters, rivals, rate, true, 4})
	}
	for _, who := range []string{counters, countersOnce} {
		all = append(all, besideThePipeline(who)...)
	}
	for _, limiter := range []string{"redis_rate", "rueidis-two-keys"} {
		for _, s := range limitScenarios {
			least := 3.0
			if s.fixed+s.variable > 1 { // for which the others need as many calls
				least = 5
			}
			all = append(all, goal{100, s.name, "ours-fixed-window", []string{limiter}, rate, true, least})
		}
	}
	return all
}

// besideThePipeline returns the goals of Counters: to serve at least as many requests
// as a pipeline, and to cost little more where no hits merge.
func besideThePipeline(who string) (all []goal) {
	pipeline := []string{oursAlone}
	for _, n := range anyone {
		for _, s := range scenarios {
			all = append(all, goal{n, s.name, who, pipeline, rate, true, 1})
		}
		const apart = "variable_key" // nothing merges
		all = append(all, goal{n, apart, who, pipeline, p99, false, 1.1}, goal{n, apart, who, pipeline, cpu, false, 1.2},
			goal{n, apart, who, nil, allocs, false, 0.1})
	}
	return all
}

// limitShare is the share of redis-benchmark's commands a second that ours are
// to reach in mixed_10keys with limitCallers.
const (
	limitShare   = 0.9
	limitCallers = 100
)

// ratio returns ours to the best mode's, and the name of that; it is "-" where the
// goal is beside nobody. There is none if one of them was not measured.
func (g goal) ratio(r *record, tls bool) (s stats.Spread, mode string) {
	ours := r.turns[cell{tls, g.callers, g.scenario, g.who}]
	if len(ours) == 0 {
		return s, ""
	}
	if g.beside == nil {
		return g.figure.over(ours), "-"
	}
	for _, client := range r.clients {
		theirs := r.turns[cell{tls, g.callers, g.scenario, client}]
		if !g.isBeside(client) {
			continue
		}
		if to, ok := g.figure.ratio(ours, theirs); ok && (mode == "" || (to.Median < s.Median) == g.atLeast) {
			s, mode = to, client
		}
	}
	return s, mode
}

// isBeside reports whether the client is a mode of one of the rivals. Our pipeline is
// what it is called and no other of ours.
func (g goal) isBeside(client string) bool {
	for _, rival := range g.beside {
		if client == rival || rival != oursAlone && strings.HasPrefix(client, rival+"-") {
			return true
		}
	}
	return false
}

func (g goal) reached(ratio float64) bool {
	if g.atLeast {
		return ratio >= g.threshold
	}
	return ratio <= g.threshold
}
