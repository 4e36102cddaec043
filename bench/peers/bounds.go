package main

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/bench/table"
)

// bounds is the table of what goals for rates leave to a client. Clients and servers share the
// processors, so a request takes of them what they have in a second divided by the rate. What
// the servers take of it no client can save; without all of the rest, ours would make at
// most so many times the requests of the one beside it.
func (r *record) bounds() *table.Table {
	t := table.New("callers", "scenario", "ours", "beside", "goal", "median", "processors/req", "servers'", "client's", "neither's", "at most", "")
	for _, tls := range r.over {
		for _, g := range goals() {
			ratio, mode := g.ratio(r, tls)
			ours := r.turns[cell{tls, g.callers, g.scenario, g.who}]
			if g.figure.name != rate.name || mode == "" || ours[0].Servers == 0 {
				continue
			}
			all := float64(r.processors()) * float64(time.Second) / rate.over(ours).Median
			servers, client := serving.over(ours).Median, cpu.over(ours).Median
			most, verdict := ratio.Median*all/servers, ""
			switch {
			case g.reached(ratio.Median):
				verdict = "reached"
			case most < g.threshold:
				verdict = "out of reach"
			default:
				verdict = "**short**"
			}
			t.Add(fmt.Sprint(g.callers), overText(g.scenario, tls), g.who, mode, fmt.Sprintf("%.2f", g.threshold), fmt.Sprintf("%.2f", ratio.Median),
				table.Nanoseconds(all), table.Nanoseconds(servers), table.Nanoseconds(client), table.Nanoseconds(max(0, all-servers-client)), fmt.Sprintf("%.2f", most), verdict)
		}
	}
	return t
}

// processors is how many the machine has.
func (r *record) processors() int {
	if len(r.starts) == 0 || r.starts[0].Machine.CPUs == 0 {
		return 1
	}
	return r.starts[0].Machine.CPUs
}
