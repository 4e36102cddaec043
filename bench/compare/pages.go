package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/internal/pages"

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

// poolFactor is throughput by round trip and grouping, over the size of the pool: medians
// of the rounds, since a pool is still dialling in the first one where the trip is long.
func poolFactor(r *report.Report) (string, error) {
	t := &table.Table{Head: []string{"round trip added", "by", "10 connections", "50", "100", "10 → 50"}, Text: 2}
	for _, run := range r.Runs {
		added, err := time.ParseDuration(fmt.Sprint(run.Varied[0].Value))
		if err != nil {
			return "", err
		}
		rates := make(map[string]float64)
		for _, e := range run.Endpoints {
			if e.Phases[0].Failed > 0 {
				return "", fmt.Errorf("%s %s: requests failed", run.Name, e.Name)
			}
			rates[e.Name] = e.Phases[0].Spread().Median
		}
		for _, by := range []string{"node", "slot"} {
			var of [3]float64
			for i, size := range []int{10, 50, 100} {
				if of[i] = rates[fmt.Sprintf("by %s fixed-%d", by, size)]; of[i] == 0 {
					return "", fmt.Errorf("%s: has no rate of %d connections by %s", run.Name, size, by)
				}
			}
			row := []string{fmt.Sprintf("%d ms", added.Milliseconds()), by}
			for _, rate := range of {
				row = append(row, fmt.Sprintf("%.0f", rate))
			}
			t.Add(append(row, fmt.Sprintf("%.2f", of[1]/of[0]))...)
		}
	}
	return t.String(), nil
}
