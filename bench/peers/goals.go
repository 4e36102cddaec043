package main

import "time"

// A goal is a ratio of ours to a rival's that is to be reached.
type goal struct {
	callers   int
	scenario  string
	who       string // of ours
	rival     string
	figure    figure
	atLeast   bool // else at most
	threshold float64
}

// A figure is something measured.
type figure struct {
	name string
	of   func(r *result) float64
}

var (
	rate = figure{"req/s", (*result).rate}
	cpu  = figure{"cpu/req", func(r *result) float64 { return float64(r.cpuPerRequest()) }}
	p99  = figure{"p99", func(r *result) float64 { return float64(r.percentile(99)) }}
)

var rivals = [...]string{"rueidis", "go-redis-50", "radix-parallel"}

// goals returns what is to be reached beside each rival.
func goals() []goal {
	var all []goal
	add := func(callers int, f figure, atLeast bool, thresholds [len(rivals)]float64, scenarios ...string) {
		for _, s := range scenarios {
			for i, rival := range rivals {
				all = append(all, goal{callers, s, "ours", rival, f, atLeast, thresholds[i]})
			}
		}
	}
	add(100, rate, true, [...]float64{1.6, 2.8, 5}, "mixed_10keys")
	add(100, cpu, false, [...]float64{0.40, 0.20, 0.10}, "mixed_10keys")
	add(100, rate, true, [...]float64{1.5, 3, 2.2}, "fixed_key")
	add(100, rate, true, [...]float64{1.7, 3, 2.5}, "variable_key", "mixed_2keys")
	add(100, cpu, false, [...]float64{0.50, 0.25, 0.40}, "fixed_key", "variable_key", "mixed_2keys")
	add(100, p99, false, [...]float64{0.6, 0.5, 0.3}, "fixed_key", "variable_key", "mixed_2keys", "mixed_10keys")
	add(1, cpu, false, [...]float64{0.65, 0.55, 0.3}, "mixed_10keys")
	add(1, cpu, false, [...]float64{0.9, 0.9, 1.0}, "fixed_key")
	for _, rival := range []string{"redis_rate", "rueidis-script"} {
		for _, s := range []string{"one_hot_key", "one_limit"} {
			all = append(all, goal{100, s, "ours-fixed-window", rival, rate, true, 3})
		}
		all = append(all, goal{100, "five_limits", "ours-fixed-window", rival, rate, true, 5},
			goal{100, "five_limits", "ours-fixed-window", rival + "-parallel", rate, true, 5})
	}
	return append(all, goal{100, "fixed_key", counters, "rueidis", rate, true, 4})
}

// limitShare is the share of redis-benchmark's commands a second that ours are
// to reach in mixed_10keys with limitCallers.
const (
	limitShare   = 0.9
	limitCallers = 100
)

// A cell is one measurement's place.
type cell struct {
	callers  int
	scenario string
	client   string
}

// ratio returns ours to the rival's, and whether both were measured.
func (g goal) ratio(results map[cell]*result) (ratio float64, ok bool) {
	ours, theirs := results[cell{g.callers, g.scenario, g.who}], results[cell{g.callers, g.scenario, g.rival}]
	if ours == nil || theirs == nil || ours.requests == 0 || theirs.requests == 0 {
		return 0, false
	}
	return g.figure.of(ours) / g.figure.of(theirs), true
}

func (g goal) reached(ratio float64) bool {
	if g.atLeast {
		return ratio >= g.threshold
	}
	return ratio <= g.threshold
}

func round(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	default:
		return d.Round(100 * time.Nanosecond)
	}
}
