package report

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/verdict"
)

// A Report is everything that was measured. All durations in it are nanoseconds.
type Report struct {
	Machine     Machine         `json:"machine"`
	Settings    []Setting       `json:"settings"`
	Interrupted bool            `json:"interrupted"`
	Summary     verdict.Summary `json:"summary"`
	Steps       []Step          `json:"steps"` // by their targets
}

// A Setting is one flag and its value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Step is what was measured at one rate.
type Step struct {
	Target          int                     `json:"target_per_second"`
	Actual          float64                 `json:"actual_per_second"`
	Took            time.Duration           `json:"measured_ns"`
	Successes       int64                   `json:"successes"`
	OverLimit       int64                   `json:"over_limit"` // of the successes
	Failures        int64                   `json:"failures"`
	FailureShare    float64                 `json:"failure_share"`
	FailureKinds    map[string]load.Failure `json:"failure_kinds,omitempty"`
	MostOutstanding int                     `json:"most_outstanding"`
	Verdict         verdict.Verdict         `json:"verdict"`
	Why             string                  `json:"why_breaking,omitempty"`
	Latency         Distribution            `json:"latency"`
	Late            Distribution            `json:"sent_late"` // how long after they were due requests were sent
}

// A Distribution is one of durations, in nanoseconds.
type Distribution struct {
	Count    int64         `json:"count"`
	Mean     time.Duration `json:"mean"`
	P50      time.Duration `json:"p50"`
	P95      time.Duration `json:"p95"`
	P99      time.Duration `json:"p99"`
	P999     time.Duration `json:"p99_9"`
	Max      time.Duration `json:"max"`
	Brackets []Bracket     `json:"brackets"`
}

// A Bracket is a duration that so many percent do not exceed.
type Bracket struct {
	Percent float64       `json:"percent"`
	Value   time.Duration `json:"value"`
}

// New returns a report without steps.
func New(settings []Setting) *Report {
	return &Report{Machine: thisMachine(), Settings: settings, Steps: []Step{}}
}

// Add adds a step. One that was interrupted before anything was measured is left
// out.
func (r *Report) Add(target int, result *load.Result) {
	r.Interrupted = r.Interrupted || result.Interrupted
	if result.Requests() == 0 && result.Interrupted {
		return
	}
	s := Step{
		Target: target, Actual: result.Rate(), Took: result.Took, Successes: result.Successes, OverLimit: result.Denied,
		Failures: result.Failed(), FailureKinds: result.Failures, MostOutstanding: result.MostOutstanding,
		Latency: distribution(result.Latency), Late: distribution(result.Late),
	}
	judged := judge(target, result)
	s.FailureShare, s.Verdict = judged.FailureShare(), judged.Verdict()
	if s.Verdict == verdict.Breaking {
		s.Why = judged.Why()
	}
	r.Steps = append(r.Steps, s)
	slices.SortStableFunc(r.Steps, func(a, b Step) int { return cmp.Compare(a.Target, b.Target) })
	r.Summary = verdict.Summarize(r.Judged())
}

func judge(target int, result *load.Result) verdict.Step {
	return verdict.Step{
		Target: target, Actual: result.Rate(), Successes: result.Successes, Failures: result.Failed(), Refused: refused(result.Failures),
		P99: result.Percentile(99), Late: late(result), Interrupted: result.Interrupted,
	}
}

// refused counts the failures that a driver that is late does not bring about.
func refused(kinds map[string]load.Failure) (n int64) {
	for kind, f := range kinds {
		if kind != load.NotSent && kind != load.TooLate {
			n += f.Count
		}
	}
	return n
}

func late(result *load.Result) time.Duration {
	return time.Duration(result.Late.ValueAtQuantile(99))
}

// Judged returns what verdicts go by, of all steps.
func (r *Report) Judged() (all []verdict.Step) {
	for _, s := range r.Steps {
		all = append(all, verdict.Step{
			Target: s.Target, Actual: s.Actual, Successes: s.Successes, Failures: s.Failures, Refused: refused(s.FailureKinds),
			P99: s.Latency.P99, Late: s.Late.P99, Interrupted: s.Verdict == verdict.Interrupted,
		})
	}
	return all
}

func distribution(h *hdrhistogram.Histogram) Distribution {
	d := Distribution{Count: h.TotalCount(), Brackets: []Bracket{}}
	if d.Count == 0 {
		return d
	}
	at := func(percent float64) time.Duration { return time.Duration(h.ValueAtQuantile(percent)) }
	d.Mean, d.Max = time.Duration(h.Mean()), time.Duration(h.Max())
	d.P50, d.P95, d.P99, d.P999 = at(50), at(95), at(99), at(99.9)
	for _, b := range h.CumulativeDistribution() {
		d.Brackets = append(d.Brackets, Bracket{b.Quantile, time.Duration(b.ValueAt)})
	}
	return d
}

// WriteJSON writes everything.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
