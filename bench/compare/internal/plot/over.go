package plot

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	gonum "gonum.org/v1/plot"

	"github.com/redislanes/redislanes/bench/chart"
	"github.com/redislanes/redislanes/bench/compare/internal/report"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/verdict"
)

// A series is phases over a number.
type series struct {
	name   string
	points []point
}

type point struct {
	at    float64
	phase *report.Phase
}

// A sweep is the runs that differ in one setting only, which has a number.
type sweep struct {
	key  string
	rest string // the other settings that vary, as text
	at   []gonum.Tick
	runs []*report.Run
}

// over returns throughput and latency over each setting that was varied and has a number, once
// for each combination of the others.
func over(r *report.Report) (all []Figure) {
	for _, s := range sweeps(r) {
		axis := chart.Axis{Label: s.key}
		for _, t := range s.at {
			axis.Add(t.Value, t.Label)
		}
		title := "Over " + s.key
		for _, part := range []string{s.rest, s.runs[0].Conditions(s.key)} {
			if part != "" {
				title += ", " + part
			}
		}
		f := Figure{slug("over-" + s.key + "-" + s.rest), chart.Chart{Title: title, Panels: panels(axis, s.series())}}
		if s.key == "rate" {
			due := chart.Line{Name: "rate that is due", Style: chart.Dotted}
			for _, t := range axis.Ticks {
				due.Points = append(due.Points, chart.Point{X: t.Value, Y: t.Value})
			}
			f.Panels[0].Lines = append(f.Panels[0].Lines, due)
		}
		all = append(all, f)
	}
	return all
}

func sweeps(r *report.Report) (all []*sweep) {
	for _, run := range r.Runs {
		for i, v := range run.Varied {
			tick, ok := tickOf(v.Value)
			if !ok {
				continue
			}
			rest := settings.Join(slices.Delete(slices.Clone(run.Varied), i, i+1))
			j := slices.IndexFunc(all, func(s *sweep) bool { return s.key == v.Key && s.rest == rest })
			if j < 0 {
				all = append(all, &sweep{key: v.Key, rest: rest})
				j = len(all) - 1
			}
			all[j].at, all[j].runs = append(all[j].at, tick), append(all[j].runs, run)
		}
	}
	return slices.DeleteFunc(all, func(s *sweep) bool { return len(s.runs) < 2 })
}

// tickOf returns the place of a value on an axis: that of a duration is in milliseconds.
func tickOf(value string) (gonum.Tick, bool) {
	if number, err := strconv.ParseFloat(value, 64); err == nil {
		return gonum.Tick{Value: number, Label: chart.Number(number)}, true
	}
	d, err := time.ParseDuration(value)
	return gonum.Tick{Value: ms(d), Label: value}, err == nil
}

// series are the rows of all runs, in the order in which they come.
func (s *sweep) series() (all []series) {
	for i, run := range s.runs {
		for _, r := range rows(run) {
			j := slices.IndexFunc(all, func(of series) bool { return of.name == r.name })
			if j < 0 {
				j = len(all)
				all = append(all, series{name: r.name})
			}
			all[j].points = append(all[j].points, point{s.at[i].Value, r.phase})
		}
	}
	return all
}

// panels are throughput, latency and, where requests failed, their share. What did not succeed
// at all has no latency.
func panels(over chart.Axis, all []series) []chart.Panel {
	rates := chart.Panel{Title: "requests per second: median and spread of the rounds", X: over}
	times := chart.Panel{Title: "latency of successes: P50 as lines, P99 as dotted lines", X: over, Y: chart.Latency}
	failed := chart.Panel{Title: "requests that failed (%)", X: over}
	few := chart.Line{Name: fmt.Sprintf("over %.0f %% failed", 100*verdict.MostFailures), Style: chart.Crosses}
	anyFailed := false
	for _, s := range all {
		rate, failures := chart.Line{Name: s.name}, chart.Line{Name: s.name}
		p50, p99 := chart.Line{Name: s.name}, chart.Line{Name: s.name, Style: chart.Dotted}
		for _, p := range s.points {
			rounds := p.phase.Spread()
			rate.Points = append(rate.Points, chart.Point{X: p.at, Y: rounds.Median, Low: rounds.Low, High: rounds.High})
			failures.Points = append(failures.Points, chart.Point{X: p.at, Y: 100 * p.phase.FailedShare()})
			anyFailed = anyFailed || p.phase.Failed() > 0
			if p.phase.Requests == 0 {
				continue
			}
			middle, high := chart.Point{X: p.at, Y: ms(p.phase.Latency.At(50))}, chart.Point{X: p.at, Y: ms(p.phase.Latency.At(99))}
			p50.Points, p99.Points = append(p50.Points, middle), append(p99.Points, high)
			if p.phase.FailedShare() > verdict.MostFailures {
				few.Points = append(few.Points, middle, high)
			}
		}
		rates.Lines, failed.Lines = append(rates.Lines, rate), append(failed.Lines, failures)
		times.Lines = append(times.Lines, p50, p99)
	}
	drawn := []chart.Panel{rates}
	times.Lines = append(times.Lines, few)
	if anyPoints(times.Lines) {
		drawn = append(drawn, times)
	}
	if anyFailed {
		drawn = append(drawn, failed)
	}
	return drawn
}
