package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/pages"
	"github.com/redislanes/redislanes/sizing"

	"github.com/redislanes/redislanes/bench/chart"
	"github.com/redislanes/redislanes/bench/compare/internal/plot"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/table"
)

// reports are what raw files say, by their names. Each file is read once.
type reports map[string]*report.Report

// picture draws a figure of the pages, by the name that package plot gives it.
func (known reports) picture(t pages.Table) ([]byte, error) {
	if title, ok := strings.CutPrefix(t.Name, "factors "); ok {
		return known.factors(t, title)
	}
	r, err := known.of(t)
	if err != nil {
		return nil, err
	}
	return plot.SVG(r, t.Name)
}

// factors draws pairs of bars: TITLE | NAME = THEIRS = value FILE: SELECTION | and so on. FILE is the place of
// the file among those of the picture, or A ÷ B the selection of a ratio.
func (known reports) factors(t pages.Table, text string) ([]byte, error) {
	title, text, _ := strings.Cut(text, " | ")
	p := chart.Panel{}
	for bar := range strings.SplitSeq(text, " | ") {
		parts := strings.SplitN(bar, " = ", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("%q: want NAME = THEIRS = value FILE: SELECTION", bar)
		}
		theirs, err := strconv.ParseFloat(parts[1], 64)
		if err != nil {
			return nil, err
		}
		of, selection, _ := strings.Cut(parts[2], ": ")
		kind, place, _ := strings.Cut(of, " ")
		i, err := strconv.Atoi(place)
		if err != nil || i < 1 || i > len(t.Files) {
			return nil, fmt.Errorf("%q: want the number of one of %d files", place, len(t.Files))
		}
		figure, err := pages.Figure(kind, t.Program, t.Files[i-1], selection, known.table)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", bar, err)
		}
		ours, err := strconv.ParseFloat(figure, 64)
		if err != nil || ours <= 0 || theirs <= 0 {
			return nil, fmt.Errorf("%q: %s is no factor", bar, figure)
		}
		p.Pairs = append(p.Pairs, chart.Pair{Name: parts[0], Theirs: theirs, Ours: ours})
	}
	c := chart.Chart{Title: title, Panels: []chart.Panel{p}}
	return c.SVG()
}

// table makes a table of the pages from a raw file: pool factor, or one that Report.Markdown knows.
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
		r, err := readRaw(name)
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
				if i < 0 || run.Endpoints[i].Phases[0].Failed() > 0 {
					return "", fmt.Errorf("%s %s: was not measured, or requests failed", run.Name, name)
				}
				p := run.Endpoints[i].Phases[0]
				trip := time.Duration(trips[by] * float64(p.IdleTrips.At(50)))
				rates = append(rates, p.Spread().Median)
				row = append(row, fmt.Sprintf("%.0f", p.Spread().Median), fmt.Sprintf("%.0f", sizing.ClosedThroughput(p.Callers, size, trip, 0)))
			}
			t.Add(append(row, fmt.Sprintf("%.2f", rates[1]/rates[0]))...)
		}
	}
	return t.String(), nil
}
