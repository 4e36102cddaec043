// Package verdict judges the steps of a ladder: how good each was, the highest rate
// that holds, and the rate at which the service breaks. It measures nothing.
package verdict

import (
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
	s.Verdict, s.Why = verdict.Of(f), verdict.Why(f)
}

// driverBound reports whether most of the latency is the driver's, and the service did not
// refuse requests: the driver had too little CPU, and the service may be better than the
// figures.
func (s *Step) driverBound() bool {
	refused := s.Failures - s.FailureKinds[load.NotSent].Count - s.FailureKinds[load.TooLate].Count
	return float64(refused) <= verdict.MostFailures*float64(s.Successes+s.Failures) && s.Latency.P99 >= MostLate && s.Late.P99 > s.Latency.P99/2
}
