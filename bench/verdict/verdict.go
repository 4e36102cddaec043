package verdict

import (
	"fmt"
	"time"
)

// A Verdict says in a word how an endpoint did at a rate.
type Verdict string

// The verdicts, from best to worst. The last two do not hold.
const (
	Excellent  Verdict = "excellent"
	Good       Verdict = "good"
	Acceptable Verdict = "acceptable"
	Degraded   Verdict = "degraded"
	OverSLA    Verdict = "over SLA"
	Breaking   Verdict = "breaking"
)

// What the verdicts go by.
const (
	// MostFailures is the share of failures above which an endpoint breaks.
	MostFailures = 0.01
	// LeastRate is the share of the target below which an endpoint breaks.
	LeastRate = 0.95
)

// Bands are the verdicts by P99, each below its bound. Above all bounds an endpoint
// is degraded.
var Bands = []struct {
	Below   time.Duration
	Verdict Verdict
}{
	{10 * time.Millisecond, Excellent},
	{50 * time.Millisecond, Good},
	{150 * time.Millisecond, Acceptable},
}

// Figures are what a verdict goes by.
type Figures struct {
	Target   float64 // requests a second that were due
	Actual   float64 // successes a second
	Failed   float64 // share of the requests
	P99      time.Duration
	SLA      float64 // share of the requests that must be answered in time; 0 for none
	InTime   float64 // share that was
	Measured bool    // requests were due and something came of them
}

// Of judges the figures.
func Of(f Figures) Verdict {
	if f.broken() != "" {
		return Breaking
	}
	if f.InTime < f.SLA {
		return OverSLA
	}
	for _, b := range Bands {
		if f.P99 < b.Below {
			return b.Verdict
		}
	}
	return Degraded
}

// Holds reports whether an endpoint with the verdict serves its rate.
func (v Verdict) Holds() bool { return v != Breaking && v != OverSLA }

// Why says why an endpoint does not hold; "" if it does.
func Why(f Figures) string {
	if why := f.broken(); why != "" {
		return why
	}
	if f.InTime < f.SLA {
		return fmt.Sprintf("%.3g %% of the requests were in time, less than %.4g %%", f.InTime*100, f.SLA*100)
	}
	return ""
}

func (f Figures) broken() string {
	switch {
	case !f.Measured:
		return "nothing was answered"
	case f.Failed > MostFailures:
		return fmt.Sprintf("%.3g %% of the requests failed, more than %.0f %%", f.Failed*100, MostFailures*100)
	case f.Actual < LeastRate*f.Target:
		return fmt.Sprintf("the rate was %.3g %% of the target, less than %.0f %%", f.Actual/f.Target*100, LeastRate*100)
	}
	return ""
}
