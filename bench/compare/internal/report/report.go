package report

import (
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redislanes/redislanes/bench/compare/internal/load"
	"github.com/redislanes/redislanes/bench/compare/internal/settings"
	"github.com/redislanes/redislanes/bench/compare/internal/stats"
	"github.com/redislanes/redislanes/bench/compare/internal/verdict"
)

// A Report is everything that was measured. All durations in it are nanoseconds,
// all sizes bytes.
type Report struct {
	File        string  `json:"file"`
	Question    string  `json:"question,omitempty"`
	Interrupted bool    `json:"interrupted"`
	Failure     string  `json:"failure,omitempty"` // what ended the comparison early
	Machine     Machine `json:"machine"`
	Runs        []*Run  `json:"runs"`
	Limits      []Limit `json:"limits,omitempty"`
	Sizes       []Size  `json:"sizes,omitempty"`
}

// A Run is endpoints that were measured in turn.
type Run struct {
	Name      string           `json:"name"`
	Varied    []settings.Value `json:"varied,omitempty"`
	Rounds    int              `json:"rounds"` // that were asked for
	Endpoints []*Endpoint      `json:"endpoints"`
}

// An Endpoint is what one client did.
type Endpoint struct {
	Name     string           `json:"name"`
	Settings []settings.Value `json:"settings"`
	Phases   []*Phase         `json:"phases"`

	load settings.Load
}

// A Phase is one part of an endpoint's turns, over all rounds.
type Phase struct {
	Callers       int                     `json:"callers"`
	Requests      int64                   `json:"requests"`
	Failed        int64                   `json:"failed"`
	Errors        map[string]load.Failure `json:"errors,omitempty"`
	Took          time.Duration           `json:"took_ns"`
	Rate          float64                 `json:"requests_per_second"`
	CPU           float64                 `json:"cpu_per_request_ns"`
	Allocations   float64                 `json:"allocations_per_request"`
	Bytes         float64                 `json:"bytes_per_request"`
	MaxWaiters    int                     `json:"max_waiters"`
	MaxSaturation float64                 `json:"max_saturation"`
	Waited        uint64                  `json:"waited"`       // batches that waited for a connection
	WaitTime      time.Duration           `json:"wait_time_ns"` // of these, in all
	Dials         uint64                  `json:"connections_opened"`
	Closes        uint64                  `json:"connections_closed"`
	Latency       Latency                 `json:"latency"`
	Resources     Resources               `json:"resources"`
	Bound         string                  `json:"bound_by"` // what kept it from doing more
	// Fast and Slow are set where the load has occasional slow requests.
	Fast *Latency `json:"latency_fast,omitempty"`
	Slow *Latency `json:"latency_slow,omitempty"`
	// Reads and Writes are set where the load has both; slow requests are in
	// neither.
	Reads  *Latency `json:"latency_reads,omitempty"`
	Writes *Latency `json:"latency_writes,omitempty"`

	InTime  *float64        `json:"in_time,omitempty"` // share of the requests that were answered as the SLA says
	Verdict verdict.Verdict `json:"verdict,omitempty"` // of an open loop
	Why     string          `json:"why,omitempty"`     // it does not hold

	PerRound []Round               `json:"rounds"`
	Samples  []load.Sample         `json:"samples,omitempty"` // of the last round
	Tests    map[string]stats.Test `json:"tests,omitempty"`   // against the first endpoint

	load settings.Load
	sum  *load.Result
}

// A Latency is a distribution of latencies, in nanoseconds.
type Latency struct {
	Count int64 `json:"count"`
	stats.Moments
	Min         int64        `json:"min"`
	Max         int64        `json:"max"`
	Percentiles []Percentile `json:"percentiles"`
}

// A Percentile is a latency that so many percent do not exceed.
type Percentile struct {
	Percent float64 `json:"percent"`
	Value   int64   `json:"value"`
}

// A Round is the figures of one round, which the tests compare.
type Round struct {
	Requests int64   `json:"requests"`
	Failed   int64   `json:"failed"`
	Rate     float64 `json:"requests_per_second"`
	Mean     float64 `json:"mean"`
	P50      float64 `json:"p50"`
	P99      float64 `json:"p99"`
	FastP50  float64 `json:"fast_p50"`
	FastP99  float64 `json:"fast_p99"`
	CPU      float64 `json:"cpu_per_request_ns"`
	Partial  bool    `json:"partial,omitempty"` // was cut short, and is left out of the tests
}

// New returns a report of a file in which nothing was measured yet.
func New(f *settings.File) *Report {
	return &Report{File: f.Name, Question: f.Question, Machine: thisMachine(), Runs: []*Run{}}
}

// Begin adds a run.
func (r *Report) Begin(s settings.Run) *Run {
	run := &Run{Name: s.Name, Varied: s.Varied, Rounds: s.Rounds}
	for _, e := range s.Endpoints {
		run.Endpoints = append(run.Endpoints, &Endpoint{Name: e.Name, Settings: e.Load.Values(), load: e.Load})
	}
	r.Runs = append(r.Runs, run)
	return run
}

// Add adds one turn of an endpoint.
func (e *Endpoint) Add(phases []*load.Result) {
	for i, result := range phases {
		if i == len(e.Phases) {
			e.Phases = append(e.Phases, &Phase{load: e.load, sum: load.NewResult()})
		}
		e.Phases[i].add(result)
	}
}

func (p *Phase) add(r *load.Result) {
	p.sum.Add(r)
	p.Samples = r.Use.Samples
	all, fast := r.All(), r.Fast()
	p.PerRound = append(p.PerRound, Round{
		Requests: r.Requests, Failed: r.Failed(), Rate: r.Rate(), Mean: all.Mean(), Partial: r.Partial,
		P50: float64(all.ValueAtQuantile(50)), P99: float64(all.ValueAtQuantile(99)),
		FastP50: float64(fast.ValueAtQuantile(50)), FastP99: float64(fast.ValueAtQuantile(99)),
		CPU: r.PerRequest(float64(r.CPU)),
	})
}

// Finish computes what the rounds make together. Call it once, at the end.
func (r *Report) Finish() {
	for _, run := range r.Runs {
		run.Endpoints = slices.DeleteFunc(run.Endpoints, func(e *Endpoint) bool { return len(e.Phases) == 0 })
		for i, e := range run.Endpoints {
			for j, p := range e.Phases {
				p.finish(r.Machine)
				if i > 0 && j < len(run.Endpoints[0].Phases) {
					p.Tests = compare(run.Endpoints[0].Phases[j].PerRound, p.PerRound, p.Slow != nil)
				}
			}
		}
	}
	r.Limits, r.Sizes = r.limits(), r.sizes()
	r.Runs = slices.DeleteFunc(r.Runs, func(run *Run) bool { return len(run.Endpoints) == 0 })
}

// FailedShare returns the share of the requests that failed; 0 without any.
func (p *Phase) FailedShare() float64 {
	if p.Failed == 0 {
		return 0
	}
	return float64(p.Failed) / float64(p.Requests+p.Failed)
}

// FailedRate returns how many requests failed a second.
func (p *Phase) FailedRate() float64 {
	if p.Took <= 0 {
		return 0
	}
	return float64(p.Failed) / p.Took.Seconds()
}

func (p *Phase) finish(m Machine) {
	s := p.sum
	p.Callers, p.Requests, p.Failed, p.Took, p.Rate = s.Callers, s.Requests, s.Failed(), s.Took, s.Rate()
	p.Errors = maps.Clone(s.Errors)
	p.CPU, p.Allocations, p.Bytes = s.PerRequest(float64(s.CPU)), s.PerRequest(float64(s.Mallocs)), s.PerRequest(float64(s.Bytes))
	p.MaxWaiters, p.MaxSaturation = s.Use.MaxWaiters, s.Use.MaxSaturation
	p.Waited, p.WaitTime, p.Dials, p.Closes = s.Use.Waited, s.Use.WaitTime, s.Use.Dials, s.Use.Closes
	p.Latency = latencyOf(s.All())
	p.Resources = resourcesOf(s, m.CPUs, !m.Given)
	p.Bound = p.bound(p.load.Rate > 0, m.CPUs)
	if s.Slow.TotalCount() > 0 {
		fast, slow := latencyOf(s.Fast()), latencyOf(s.Slow)
		p.Fast, p.Slow = &fast, &slow
	}
	if s.Reads.TotalCount() > 0 && s.Writes.TotalCount() > 0 {
		reads, writes := latencyOf(s.Reads), latencyOf(s.Writes)
		p.Reads, p.Writes = &reads, &writes
	}
	p.judge()
}

// A part is the latencies of some of the requests.
type part struct {
	name    string
	latency *Latency
}

// parts are the latencies of kinds of requests, where there are several.
func (p *Phase) parts() (all []part) {
	for _, k := range []part{{"fast", p.Fast}, {"reads", p.Reads}, {"writes", p.Writes}, {"slow", p.Slow}} {
		if k.latency != nil {
			all = append(all, k)
		}
	}
	return all
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	l := Latency{Count: h.TotalCount(), Moments: stats.Describe(h), Min: h.Min(), Max: h.Max()}
	if l.Count == 0 {
		l.Min = 0
	}
	for _, percent := range stats.Percents {
		l.Percentiles = append(l.Percentiles, Percentile{percent, h.ValueAtQuantile(percent)})
	}
	return l
}

// At returns a percentile that a report has; 0 for others.
func (l Latency) At(percent float64) time.Duration {
	for _, p := range l.Percentiles {
		if p.Percent == percent {
			return time.Duration(p.Value)
		}
	}
	return 0
}

// Curve returns the latency at each of the percentages, up to what the number of
// requests can tell: ten of them must be slower, or it is chance.
func (p *Phase) Curve(percents []float64) (at []float64, latency []time.Duration) {
	all := p.sum.All()
	for _, percent := range percents {
		if float64(all.TotalCount())*(100-percent)/100 >= 10 {
			at = append(at, percent)
			latency = append(latency, time.Duration(all.ValueAtQuantile(percent)))
		}
	}
	return at, latency
}

// figures are those that are tested.
var figures = []struct {
	name string
	of   func(Round) float64
	slow bool // only of loads with slow requests
}{
	{"req/s", func(r Round) float64 { return r.Rate }, false},
	{"P50", func(r Round) float64 { return r.P50 }, false},
	{"P99", func(r Round) float64 { return r.P99 }, false},
	{"fast P50", func(r Round) float64 { return r.FastP50 }, true},
	{"fast P99", func(r Round) float64 { return r.FastP99 }, true},
	{"CPU/request", func(r Round) float64 { return r.CPU }, false},
}

// compare tests each figure of whole rounds.
func compare(first, other []Round, slow bool) map[string]stats.Test {
	tests := make(map[string]stats.Test)
	for _, f := range figures {
		if f.slow && !slow {
			continue
		}
		tests[f.name] = stats.Compare(whole(first, f.of), whole(other, f.of))
	}
	return tests
}

func whole(rounds []Round, of func(Round) float64) (values []float64) {
	for _, r := range rounds {
		if !r.Partial {
			values = append(values, of(r))
		}
	}
	return values
}
