package verdict

import (
	"fmt"
	"time"
)

// A Verdict says in a word how a service did at one rate.
type Verdict string

// The verdicts, from best to worst. The first four hold; the last two say nothing of the service.
const (
	Excellent    Verdict = "excellent"
	Good         Verdict = "good"
	Acceptable   Verdict = "acceptable"
	Degraded     Verdict = "degraded"
	Breaking     Verdict = "breaking"
	Inconclusive Verdict = "inconclusive" // the driver lacked CPU
	Interrupted  Verdict = "interrupted"
)

// What the verdicts go by.
const (
	// MostFailures is the share of failures above which a service breaks.
	MostFailures = 0.01
	// LeastRate is the share of the target below which a service breaks.
	LeastRate = 0.95
	// MostLate is how late the driver may send 99 % of its requests without a note: a P99
	// below it is excellent whatever the driver adds to it.
	MostLate = 10 * time.Millisecond
)

// Bands are the verdicts by P99, each below its bound. Above all bounds a step is
// degraded.
var Bands = []struct {
	Below   time.Duration
	Verdict Verdict
}{
	{10 * time.Millisecond, Excellent},
	{50 * time.Millisecond, Good},
	{150 * time.Millisecond, Acceptable},
}

// A Step is what the verdict on one step goes by.
type Step struct {
	Target      int     // requests a second that were due
	Actual      float64 // successes a second
	Successes   int64
	Failures    int64
	Refused     int64         // of the failures, those that no late driver explains
	P99         time.Duration // of the successes
	Late        time.Duration // 99 % of the requests were sent no later than this after they were due
	Interrupted bool
}

// FailureShare returns the share of the requests that failed; 0 without requests.
func (s Step) FailureShare() float64 {
	if s.Failures == 0 {
		return 0
	}
	return float64(s.Failures) / float64(s.Successes+s.Failures)
}

// Verdict judges the step.
func (s Step) Verdict() Verdict {
	switch {
	case s.Interrupted:
		return Interrupted
	case s.DriverBound():
		return Inconclusive
	case s.Why() != "":
		return Breaking
	}
	for _, b := range Bands {
		if s.P99 < b.Below {
			return b.Verdict
		}
	}
	return Degraded
}

// DriverBound reports whether most of the latency is the driver's, and the service did not
// refuse requests: the driver had too little CPU, and the service may be better than the
// figures.
func (s Step) DriverBound() bool {
	refused := float64(s.Refused) > MostFailures*float64(s.Successes+s.Failures)
	return !refused && s.P99 >= MostLate && s.Late > s.P99/2
}

// Why says why the service breaks at this rate; "" if it does not.
func (s Step) Why() string {
	if share := s.FailureShare(); share > MostFailures {
		return fmt.Sprintf("%.2f %% of the requests failed, more than %.0f %%", share*100, MostFailures*100)
	}
	if s.Actual < LeastRate*float64(s.Target) {
		return fmt.Sprintf("the actual rate was %.1f %% of the target, less than %.0f %%", s.Actual/float64(s.Target)*100, LeastRate*100)
	}
	return ""
}
