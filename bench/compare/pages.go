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

	"github.com/redislanes/redislanes/bench/compare/internal/plot"
	"github.com/redislanes/redislanes/bench/compare/internal/raw"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/rivals"
)

// reports are what raw files say, by their names. Each file is read once.
type reports map[string]*report.Report

// picture draws a picture of the pages: "throughput" from the raw files of
// bench/peers, or a figure by the name of the file that -plots gives it.
func (known reports) picture(t pages.Table) ([]byte, error) {
	if t.Name == "throughput" {
		return throughput(t.Files)
	}
	r, err := known.of(t)
	if err != nil {
		return nil, err
	}
	return plot.Narrow(r, t.Name)
}

// throughput draws ours beside the best mode of each other client.
func throughput(files []string) ([]byte, error) {
	figures, err := rivals.Read(files)
	if err != nil {
		return nil, err
	}
	var all []plot.Rates
	for _, scenario := range []struct{ name, title string }{
		{"variable_key", "A request of one key"}, {"mixed_10keys", "A request of ten keys"},
	} {
		r := plot.Rates{Title: scenario.title, Over: "callers"}
		for _, client := range []struct {
			name  string
			modes []string
		}{
			{"redislanes, default settings", []string{"ours"}}, {"rueidis, its best mode", []string{"rueidis", "rueidis-"}},
			{"go-redis, its best mode", []string{"go-redis-"}}, {"radix, its best mode", []string{"radix-"}},
		} {
			callers, rates := figures.Best(scenario.name, client.modes...)
			r.Lines = append(r.Lines, plot.Line{Name: client.name, At: callers, Rates: rates})
		}
		all = append(all, r)
	}
	return plot.DrawRates("Requests per second, 3 primaries, 2 cores", all)
}

// table makes a table of the pages from a raw file: source, pool factor,
// or one that Report.Markdown knows.
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
