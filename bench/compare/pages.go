package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/pages"

	"github.com/redislanes/redislanes/bench/compare/internal/raw"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
)

// tables returns what makes a table of the pages from a raw file: source, pool factor,
// or one that Report.Markdown knows. It reads each file once.
func tables() func(pages.Table) (string, error) {
	reports := make(map[string]*report.Report)
	return func(t pages.Table) (string, error) {
		if len(t.Files) != 1 {
			return "", errors.New("want one raw file")
		}
		name := t.Files[0]
		if reports[name] == nil {
			r, err := readRaw(name)
			if err != nil {
				return "", err
			}
			reports[name] = r
		}
		return tableOf(reports[name], t.Name)
	}
}

func readRaw(name string) (*report.Report, error) {
	from, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return raw.Read(filepath.Base(name), from)
}

func tableOf(r *report.Report, name string) (string, error) {
	switch commit := r.Machine.Commit; {
	case r.Interrupted || r.Failure != "":
		return "", errors.New("the run did not end: measure again")
	case commit == "" || strings.HasSuffix(commit, "+"):
		return "", fmt.Errorf("was measured with changes that no commit has: %q", commit)
	}
	switch name {
	case "source":
		return r.Source(), nil
	case "pool factor":
		return poolFactor(r)
	}
	return r.Markdown(name)
}

// poolFactor is throughput by round trip and grouping, over the size of the pool: medians
// of the rounds, since a pool is still dialling in the first one where the trip is long.
func poolFactor(r *report.Report) (string, error) {
	text := "| round trip added | by | 10 connections | 50 | 100 | 10 → 50 |\n|---|---|---|---|---|---|\n"
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
			rates[e.Name] = medianRate(e.Phases[0].PerRound)
		}
		for _, by := range []string{"node", "slot"} {
			var of [3]float64
			for i, size := range []int{10, 50, 100} {
				if of[i] = rates[fmt.Sprintf("by %s fixed-%d", by, size)]; of[i] == 0 {
					return "", fmt.Errorf("%s: has no rate of %d connections by %s", run.Name, size, by)
				}
			}
			text += fmt.Sprintf("| %d ms | %s | %.0f | %.0f | %.0f | %.2f |\n", added.Milliseconds(), by, of[0], of[1], of[2], of[1]/of[0])
		}
	}
	return text, nil
}

func medianRate(rounds []report.Round) float64 {
	var rates []float64
	for _, round := range rounds {
		rates = append(rates, round.Rate)
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return (rates[(len(rates)-1)/2] + rates[len(rates)/2]) / 2
}
