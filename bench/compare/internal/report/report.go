// Package report turns results into what a person or a program reads: a table in
// Markdown, statistics, and JSON. It measures nothing.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/machine"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/internal/stats"
	"github.com/redislanes/redislanes/bench/table"
	"github.com/redislanes/redislanes/bench/verdict"
)

// A Report is everything that was measured. All durations in it are nanoseconds, all sizes bytes.
type Report struct {
	File        string
	Question    string
	Interrupted bool
	Failure     string // what ended the comparison early
	Machine     Machine
	Runs        []*Run
	Limits      []Limit
	Sizes       []Size
}

// A Machine is where and with what the figures came about.
type Machine struct {
	machine.Machine

	Redis []string `json:"redis"` // versions
	Given bool     `json:"existing_cluster"`
}

// A Run is endpoints that were measured in turn.
type Run struct {
	Name      string
	Varied    []settings.Value
	Endpoints []*Endpoint
}

// An Endpoint is what one client did.
type Endpoint struct {
	Name   string
	Phases []*Phase

	load settings.Load
}

// A Phase is one part of an endpoint's turns, over all rounds.
type Phase struct {
	*load.Result
	Latency load.Histogram
	Bound   string // what kept it from doing more

	InTime  float64         // share of the requests that were answered as the SLA says
	Verdict verdict.Verdict // of an open loop
	Why     string          // it does not hold

	PerRound []Round
	Samples  []load.Sample // of the last round

	load settings.Load
}

// A Round is the figures of one round, which ratios compare.
type Round struct {
	Rate, CPU        float64
	P50, P99         float64
	FastP50, FastP99 float64
	SlowP50, SlowP99 float64
	Partial          bool // was cut short, and is compared with none
}

// New returns a report of a file in which nothing was measured yet.
func New(f *settings.File) *Report {
	return &Report{File: f.Name, Question: f.Question, Machine: Machine{Machine: machine.This(), Redis: []string{}}, Runs: []*Run{}}
}

// Begin adds a run.
func (r *Report) Begin(s settings.Run) *Run {
	run := &Run{Name: s.Name, Varied: s.Varied}
	for _, e := range s.Endpoints {
		run.Endpoints = append(run.Endpoints, &Endpoint{Name: e.Name, load: e.Load})
	}
	r.Runs = append(r.Runs, run)
	return run
}

// Add adds one turn of an endpoint.
func (e *Endpoint) Add(phases []*load.Result) {
	for i, result := range phases {
		if i == len(e.Phases) {
			e.Phases = append(e.Phases, &Phase{load: e.load, Result: load.NewResult()})
		}
		e.Phases[i].add(result)
	}
}

func (p *Phase) add(r *load.Result) {
	p.Result.Add(r)
	p.Samples = r.Use.Samples
	percentile := func(h load.Histogram, percent float64) float64 { return float64(h.ValueAtQuantile(percent)) }
	all, fast := r.All(), r.Fast()
	p.PerRound = append(p.PerRound, Round{
		Rate: r.Rate(), CPU: r.PerRequest(float64(r.CPU)), Partial: r.Partial,
		P50: percentile(all, 50), P99: percentile(all, 99), FastP50: percentile(fast, 50), FastP99: percentile(fast, 99),
		SlowP50: percentile(r.Slow, 50), SlowP99: percentile(r.Slow, 99),
	})
}

// Finish computes what the rounds make together. Call it once, at the end.
func (r *Report) Finish() {
	for _, run := range r.Runs {
		run.Endpoints = slices.DeleteFunc(run.Endpoints, func(e *Endpoint) bool { return len(e.Phases) == 0 })
	}
	r.each(func(_ *Run, _ *Endpoint, p *Phase) {
		p.Latency = p.All()
		p.Bound = p.bound(r.Machine)
		p.judge()
	})
	r.Limits, r.Sizes = r.limits(), r.sizes()
	r.Runs = slices.DeleteFunc(r.Runs, func(run *Run) bool { return len(run.Endpoints) == 0 })
}

// FailedShare returns the share of the requests that failed; 0 without any.
func (p *Phase) FailedShare() float64 {
	failed := float64(p.Failed())
	return failed / max(1, failed+float64(p.Requests))
}

// Spread returns the requests a second of the rounds.
func (p *Phase) Spread() stats.Spread {
	return stats.Of(whole(p.PerRound, func(r Round) float64 { return r.Rate }))
}

// Curve returns the latency at each of the percentages, up to what the number of
// requests can tell: ten of them must be slower, or it is chance.
func (p *Phase) Curve(percents []float64) (at []float64, latency []time.Duration) {
	for _, percent := range percents {
		if float64(p.Latency.Count())*(100-percent)/100 >= 10 {
			at = append(at, percent)
			latency = append(latency, p.Latency.At(percent))
		}
	}
	return at, latency
}

func whole(rounds []Round, of func(Round) float64) (values []float64) {
	for _, r := range rounds {
		if !r.Partial {
			values = append(values, of(r))
		}
	}
	return values
}

// conditions are settings of a load without which figures say little, in the order in which they
// are said.
func conditions(l settings.Load) (keys, texts []string) {
	add := func(worthAWord bool, key, format string, args ...any) {
		if worthAWord {
			keys, texts = append(keys, key), append(texts, fmt.Sprintf(format, args...))
		}
	}
	add(len(l.Steps) == 0, "callers", "%d callers", l.Callers)
	add(l.KeysPerRequest > 0, "keys_per_request", "%d keys a request", l.KeysPerRequest)
	add(l.Rate > 0, "rate", "%.0f requests a second", l.Rate)
	add(l.RoundTrip.Duration > 0, "round_trip", "round trip +%v", l.RoundTrip)
	add(l.Bandwidth > 0, "bandwidth", "%s/s of a connection", table.Bytes(float64(l.Bandwidth)))
	add(!l.HasNetwork(), "round_trip", "loopback")
	return keys, texts
}

// Conditions says under which load and over which network all endpoints of the run
// were measured, without what its name says.
func (run *Run) Conditions(besides ...string) string {
	if len(run.Endpoints) == 0 {
		return ""
	}
	var parts []string
	keys, texts := conditions(run.Endpoints[0].load)
	for i, text := range texts {
		differs := func(e *Endpoint) bool {
			_, others := conditions(e.load)
			return !slices.Contains(others, text)
		}
		named := func(v settings.Value) bool { return v.Key == keys[i] }
		if !slices.Contains(besides, keys[i]) && !slices.ContainsFunc(run.Varied, named) && !slices.ContainsFunc(run.Endpoints, differs) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}

// Title is the run's name and its conditions.
func (run *Run) Title() string {
	if c := run.Conditions(); c != "" {
		return run.Name + " (" + c + ")"
	}
	return run.Name
}
