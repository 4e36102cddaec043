// Package verdict judges the steps of a ladder: how good each was, the highest rate
// that holds, and the rate at which the service breaks. It measures nothing.
package verdict

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redislanes/redislanes/bench/verdict"

	"github.com/redislanes/redislanes/examples/ratelimit/ladder/internal/load"
)

// Verdicts of steps that say nothing of the service. The others are those of package bench/verdict.
const (
	Inconclusive verdict.Verdict = "inconclusive" // the driver lacked CPU
	Interrupted  verdict.Verdict = "interrupted"
)

// MostLate is how late the driver may send 99 % of its requests without a note: a P99
// below it is excellent whatever the driver adds to it.
const MostLate = 10 * time.Millisecond

// A Step is what was measured at one rate. All durations are nanoseconds.
type Step struct {
	Target          int                     `json:"target_per_second"`
	Actual          float64                 `json:"actual_per_second"`
	Took            time.Duration           `json:"measured_ns"`
	Successes       int64                   `json:"successes"`
	OverLimit       int64                   `json:"over_limit"` // of the successes
	Failures        int64                   `json:"failures"`
	FailureKinds    map[string]load.Failure `json:"failure_kinds,omitempty"`
	MostOutstanding int                     `json:"most_outstanding"`
	Latency         Distribution            `json:"latency"`             // of the successes
	Late            Distribution            `json:"sent_late"`           // how long after they were due requests were sent
	CPU             map[string]float64      `json:"cpu_cores,omitempty"` // how many each part has used, by its name
	Verdict         verdict.Verdict         `json:"verdict"`
	Why             string                  `json:"why_breaking,omitempty"`
}

// A Distribution is one of durations.
type Distribution struct {
	Count int64         `json:"count"`
	Min   time.Duration `json:"min"`
	Mean  time.Duration `json:"mean"`
	P50   time.Duration `json:"p50"`
	P95   time.Duration `json:"p95"`
	P99   time.Duration `json:"p99"`
	P999  time.Duration `json:"p99_9"`
	Max   time.Duration `json:"max"`
}

// Of judges what was measured at a rate.
func Of(target int, r *load.Result) Step {
	s := Step{
		Target: target, Actual: r.Rate(), Took: r.Took, Successes: r.Successes, OverLimit: r.Denied, Failures: r.Failed(),
		FailureKinds: r.Failures, MostOutstanding: r.MostOutstanding, Latency: distribution(r.Latency), Late: distribution(r.Late),
		CPU: r.Cores,
	}
	if s.Verdict = Interrupted; !r.Interrupted {
		s.judge()
	}
	return s
}

func distribution(h *hdrhistogram.Histogram) Distribution {
	if h.TotalCount() == 0 {
		return Distribution{}
	}
	at := func(percent float64) time.Duration { return time.Duration(h.ValueAtQuantile(percent)) }
	return Distribution{
		Count: h.TotalCount(), Min: time.Duration(h.Min()), Mean: time.Duration(h.Mean()), Max: time.Duration(h.Max()),
		P50: at(50), P95: at(95), P99: at(99), P999: at(99.9),
	}
}

// FailureShare returns the share of the requests that failed; 0 without requests.
func (s *Step) FailureShare() float64 {
	return float64(s.Failures) / float64(max(1, s.Successes+s.Failures))
}

func (s *Step) judge() {
	if s.driverBound() {
		s.Verdict = Inconclusive
		return
	}
	f := verdict.Figures{
		Target: float64(s.Target), Actual: s.Actual, Failed: s.FailureShare(), P99: s.Latency.P99, Measured: s.Successes+s.Failures > 0,
	}
	s.Verdict, s.Why = verdict.Of(f)
}

// driverBound reports whether most of the latency is the driver's, and the service did not
// refuse requests: the driver had too little CPU, and the service may be better than the
// figures.
func (s *Step) driverBound() bool {
	refused := s.Failures - s.FailureKinds[load.NotSent].Count - s.FailureKinds[load.TooLate].Count
	return float64(refused) <= verdict.MostFailures*float64(s.Successes+s.Failures) && s.Latency.P99 >= MostLate && s.Late.P99 > s.Latency.P99/2
}

// A Summary is what the steps of a ladder say together. Rates are targets, in
// requests a second; 0 is none.
type Summary struct {
	Recommended int `json:"recommended_per_second"` // 80 % of the limit
	Limit       int `json:"limit_per_second"`       // the highest rate that holds, with all lower ones
	Breaking    int `json:"breaking_per_second"`    // the lowest rate that does not
	// Inconclusive is the lowest rate above all that held at which the driver lacked CPU.
	Inconclusive int `json:"inconclusive_per_second,omitempty"`
	// HeldAbove is the highest rate that held although a lower one did not: noise,
	// which the limit leaves out.
	HeldAbove int `json:"held_above_per_second,omitempty"`
}

// Summarize judges all steps together, by rising targets. Those that were interrupted or are
// inconclusive say nothing of the limit.
func Summarize(steps []Step) Summary {
	var s Summary
	for _, step := range steps {
		switch v := step.Verdict; {
		case v == Interrupted:
		case v == Inconclusive:
			if s.Inconclusive == 0 {
				s.Inconclusive = step.Target
			}
		case v == verdict.Breaking && s.Breaking == 0:
			s.Breaking = step.Target
		case v == verdict.Breaking:
		case s.Breaking == 0:
			s.Limit, s.Inconclusive = step.Target, 0 // the driver had enough CPU for this rate
		default:
			s.HeldAbove, s.Inconclusive = step.Target, 0
		}
	}
	s.Recommended = int(math.Round(verdict.RecommendedShare * float64(s.Limit)))
	return s
}

// A Plan is the rates of a ladder. Its tags are for package flags.
type Plan struct {
	From int `default:"10000" help:"Requests a second of the first step."`
	To   int `default:"30000" help:"Requests a second up to which all steps run."`
	Step int `default:"2500" help:"Requests a second between steps."`
	Max  int `default:"100000" help:"Requests a second up to which steps go on for as long as all hold."`
}

// Next returns the rate of the step that follows those that were run: from From to
// To in any case, and further on up to Max until one breaks or the driver lacks CPU.
func (p Plan) Next(done []Step) (rate int, more bool) {
	if len(done) == 0 {
		return p.From, true
	}
	last, s := done[len(done)-1], Summarize(done)
	rate = min(last.Target+p.Step, p.Max)
	if last.Verdict == Interrupted || rate == last.Target {
		return 0, false
	}
	return rate, last.Target+p.Step <= p.To || s.Breaking == 0 && s.Inconclusive == 0
}
