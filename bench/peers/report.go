package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// report prints one table for each number of callers, and the goals.
func (p *peers) report(w io.Writer) {
	for _, callers := range p.callers {
		say(w, "\n%d callers\n\n", callers)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		say(t, "scenario\tclient\treq/s\tp50\tp99\tp99.9\tcpu/req\tallocs/req\treads/req\twrites/req\tINCRBY/key\treq/s of each round\n")
		for _, s := range p.scenarios {
			for _, c := range p.clients {
				r := p.results[cell{callers, s.name, c.name}]
				if r == nil {
					continue
				}
				say(t, "%s\t%s\t%.0f\t%v\t%v\t%v\t%v\t%.1f\t%.3f\t%.3f\t%.3f\t%s\n", s.name, c.name, r.rate(),
					round(r.percentile(50)), round(r.percentile(99)), round(r.percentile(99.9)),
					round(r.cpuPerRequest()), r.perRequest(r.mallocs),
					r.perRequest(uint64(r.calls.reads)), r.perRequest(uint64(r.calls.writes)),
					r.perRequest(uint64(r.executed))/float64(s.keys()), rounds(r.rates))
			}
		}
		_ = t.Flush()
	}
	p.reportGoals(w)
}

func rounds(rates []float64) string {
	text := ""
	for i, r := range rates {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf("%.0f", r)
	}
	return text
}

func (p *peers) reportGoals(w io.Writer) {
	say(w, "\ngoals: ours to theirs\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	say(t, "callers\tscenario\tours\tfigure\tbeside\tgoal\tmeasured\t\n")
	short, all := 0, 0
	for _, g := range goals() {
		ratio, ok := g.ratio(p.results)
		if !ok {
			continue
		}
		all++
		verdict, sign := "reached", "≤"
		if g.atLeast {
			sign = "≥"
		}
		if !g.reached(ratio) {
			verdict = "SHORT"
			short++
		}
		say(t, "%d\t%s\t%s\t%s\t%s\t%s %.2f\t%.2f\t%s\n", g.callers, g.scenario, g.who, g.figure.name, g.rival, sign, g.threshold, ratio, verdict)
	}
	if ours := p.results[cell{limitCallers, "mixed_10keys", "ours"}]; ours != nil && p.limit > 0 {
		all++
		commands := ours.rate() * 20
		verdict := "reached"
		if commands < limitShare*p.limit {
			verdict = "SHORT"
			short++
		}
		say(t, "%d\tmixed_10keys\tours\tcommands/s\tredis-benchmark -P 32 (%.0f)\t≥ %.2f\t%.2f\t%s\n",
			limitCallers, p.limit, limitShare, commands/p.limit, verdict)
	}
	_ = t.Flush()
	say(w, "\n%d of %d goals reached\n", all-short, all)
}

// say prints; what cannot be printed has no better place to be reported.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
