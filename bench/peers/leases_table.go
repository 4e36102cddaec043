package main

import (
	"fmt"

	"github.com/redislanes/redislanes/bench/chart"
	"github.com/redislanes/redislanes/bench/table"
)

func (r *leaseTurn) perDecision() float64 { return float64(r.Commands) / float64(r.Decisions) }

// leaseTable has a row for each rate, with leases and without.
func (r *record) leaseTable() *table.Table {
	t := table.New("hits/s asked for", "leases", "hits/s made", "by leases", "commands per decision", "P50", "P99")
	for _, row := range r.leaseTurns {
		leases := "on"
		if !row.Leases {
			leases = "off"
		}
		t.Add(fmt.Sprint(row.Rate), leases, fmt.Sprintf("%.0f", float64(row.Decisions)/row.Took.Seconds()), fmt.Sprintf("%.1f %%", 100*float64(row.Leased)/float64(row.Decisions)),
			fmt.Sprintf("%.4f", row.perDecision()), table.Duration(row.P50), table.Duration(row.P99))
	}
	return t
}

// leaseChart is commands per decision, and below them P99, by the rate.
func (r *record) leaseChart() *chart.Chart {
	over := chart.Axis{Label: "hits a second on the key"}
	for _, row := range r.leaseTurns {
		over.Add(float64(row.Rate), chart.Number(float64(row.Rate)))
	}
	commands := chart.Panel{Title: "commands per decision", X: over, Y: chart.Powers}
	times := chart.Panel{Title: "P99 (logarithmic)", X: over, Y: chart.Latency}
	for _, leases := range []bool{true, false} {
		name := map[bool]string{true: "with leases", false: "without"}[leases]
		needs, takes := chart.Line{Name: name}, chart.Line{Name: name}
		for _, row := range r.leaseTurns {
			if row.Leases != leases {
				continue
			}
			// The axis has no 0: none in so many decisions is less than one.
			least := 1 / float64(row.Decisions)
			needs.Points = append(needs.Points, chart.Point{X: float64(row.Rate), Y: max(row.perDecision(), least)})
			takes.Points = append(takes.Points, chart.Point{X: float64(row.Rate), Y: float64(row.P99) / 1e6})
		}
		commands.Lines, times.Lines = append(commands.Lines, needs), append(times.Lines, takes)
	}
	return &chart.Chart{Title: "One key, with leases and without", Panels: []chart.Panel{commands, times}}
}
