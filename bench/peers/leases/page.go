package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/chart"
	"github.com/redislanes/redislanes/bench/table"
)

// tableOf makes a table of the page: source or rates.
func tableOf(t pages.Table) (string, error) {
	if len(t.Files) != 1 {
		return "", errors.New("want one raw file")
	}
	r, err := readRaw(t.Files[0])
	if err != nil {
		return "", err
	}
	m := r.start.Machine
	switch t.Name {
	case "source":
		return fmt.Sprintf("- %s, commit %s, %s/%s, %d CPUs (%s), %s; three primaries on the same machine; %v for each row",
			m.Date.UTC().Format(time.DateTime), m.Commit, m.OS, m.Arch, m.CPUs, m.CPU, m.Go, r.start.During), nil
	case "rates":
		return r.table(), nil
	}
	return "", errors.New("want source or rates")
}

func (r *row) perDecision() float64 { return float64(r.Commands) / float64(r.Decisions) }

// table has a row for each rate, with leases and without.
func (r *record) table() string {
	t := table.New("hits/s asked for", "leases", "hits/s made", "by leases", "commands per decision", "P50", "P99")
	for _, row := range r.rows {
		leases := "on"
		if !row.Leases {
			leases = "off"
		}
		t.Add(fmt.Sprint(row.Rate), leases, fmt.Sprintf("%.0f", float64(row.Decisions)/row.Took.Seconds()), fmt.Sprintf("%.1f %%", 100*float64(row.Leased)/float64(row.Decisions)),
			fmt.Sprintf("%.4f", row.perDecision()), table.Duration(row.P50), table.Duration(row.P99))
	}
	return t.String()
}

// picture draws commands per decision, and below them P99, by the rate.
func picture(t pages.Table) ([]byte, error) {
	if len(t.Files) != 1 {
		return nil, errors.New("want one raw file")
	}
	r, err := readRaw(t.Files[0])
	if err != nil {
		return nil, err
	}
	over := chart.Axis{Label: "hits a second on the key"}
	for _, row := range r.rows {
		over.Add(float64(row.Rate), chart.Number(float64(row.Rate)))
	}
	commands := chart.Panel{Title: "commands per decision", X: over, Y: chart.Powers}
	times := chart.Panel{Title: "P99 (logarithmic)", X: over, Y: chart.Latency}
	for _, leases := range []bool{true, false} {
		name := map[bool]string{true: "with leases", false: "without"}[leases]
		needs, takes := chart.Line{Name: name}, chart.Line{Name: name}
		for _, row := range r.rows {
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
	c := chart.Chart{Title: "One key, with leases and without", Panels: []chart.Panel{commands, times}}
	return c.SVG()
}
