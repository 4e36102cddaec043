package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/pages"
	"github.com/redislanes/redislanes/sizing"

	"github.com/redislanes/redislanes/bench/compare/internal/plot"
	"github.com/redislanes/redislanes/bench/compare/internal/raw"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/table"
)

// reports are what raw files say, by their names. Each file is read once.
type reports map[string]*report.Report

// picture draws a figure of the pages, by the name that package plot gives it.
func (known reports) picture(t pages.Table) ([]byte, error) {
	r, err := known.of(t)
	if err != nil {
		return nil, err
	}
	return plot.SVG(r, t.Name)
}

// table makes a table of the pages from a raw file: pool factor, or one that Report.Markdown
// knows.
func (known reports) table(t pages.Table) (string, error) {
	r, err := known.of(t)
	if err != nil {
		return "", err
	}
	return tableOf(r, t.Name)
}

func (known reports) of(t pages.Table) (*report.Report, error) {
	if len(t.Files) != 1 {
		return nil, errors.New("want one raw file")
	}
	name := t.Files[0]
	if known[name] == nil {
		r, err := raw.Read(name)
		if err != nil {
			return nil, err
		}
		known[name] = r
	}
	return known[name], nil
}

func tableOf(r *report.Report, name string) (string, error) {
	if r.Interrupted || r.Failure != "" {
		return "", errors.New("the run did not end: measure again")
	}
	if name == "pool factor" {
		return poolFactor(r)
	}
	return r.Markdown(name)
}

// trips are how many round trips a request of ten keys makes to each of three nodes.
var trips = map[string]float64{"node": 1, "slot": 10. / 3}

// poolFactor is throughput by round trip and grouping, over the size of the pool: the median of
// the rounds, and what sizing.ClosedThroughput expects of the round trip that was measured.
func poolFactor(r *report.Report) (string, error) {
	t := &table.Table{Head: []string{"round trip added", "by", "10 connections", "model", "50", "model", "100", "model", "10 → 50"}, Text: 2}
	for _, run := range r.Runs {
		added, err := time.ParseDuration(fmt.Sprint(run.Varied[0].Value))
		if err != nil {
			return "", err
		}
		for _, by := range []string{"node", "slot"} {
			row := []string{fmt.Sprintf("%d ms", added.Milliseconds()), by}
			var rates []float64
			for _, size := range []int{10, 50, 100} {
				name := fmt.Sprintf("by %s fixed-%d", by, size)
				i := slices.IndexFunc(run.Endpoints, func(e *report.Endpoint) bool { return e.Name == name })
				if i < 0 || run.Endpoints[i].Phases[0].Failed > 0 {
					return "", fmt.Errorf("%s %s: was not measured, or requests failed", run.Name, name)
				}
				p := run.Endpoints[i].Phases[0]
				trip := time.Duration(trips[by] * float64(p.Resources.IdleTrip.At(50)))
				rates = append(rates, p.Spread().Median)
				row = append(row, fmt.Sprintf("%.0f", p.Spread().Median), fmt.Sprintf("%.0f", sizing.ClosedThroughput(p.Callers, size, trip, 0)))
			}
			t.Add(append(row, fmt.Sprintf("%.2f", rates[1]/rates[0]))...)
		}
	}
	return t.String(), nil
}
