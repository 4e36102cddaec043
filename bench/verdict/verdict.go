// Package verdict judges how endpoints did under open loops, and finds what holds:
// the highest rate, and the fewest connections. It measures nothing.
package verdict

import (
	"cmp"
	"fmt"
	"slices"
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

// Bands are the verdicts by P99, each below its bound. Above all bounds an endpoint is degraded.
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

// Of judges the figures. If an endpoint does not hold, it says why.
func Of(f Figures) (v Verdict, why string) {
	switch {
	case !f.Measured:
		return Breaking, "nothing was answered"
	case f.Failed > MostFailures:
		return Breaking, fmt.Sprintf("%.3g %% of the requests failed, more than %.0f %%", f.Failed*100, MostFailures*100)
	case f.Actual < LeastRate*f.Target:
		return Breaking, fmt.Sprintf("the rate was %.3g %% of the target, less than %.0f %%", f.Actual/f.Target*100, LeastRate*100)
	case f.InTime < f.SLA:
		return OverSLA, fmt.Sprintf("%.3g %% of the requests were in time, less than %.4g %%", f.InTime*100, f.SLA*100)
	}
	for _, b := range Bands {
		if f.P99 < b.Below {
			return b.Verdict, ""
		}
	}
	return Degraded, ""
}

// Holds reports whether an endpoint with the verdict serves its rate.
func (v Verdict) Holds() bool { return v != Breaking && v != OverSLA }

// RecommendedShare is what part of the limit is recommended.
const RecommendedShare = 0.8

// A Point is whether something held at a value: a rate, or a number of connections.
type Point struct {
	At    float64
	Holds bool
}

// A Limit is the highest rate that holds. 0 is none.
type Limit struct {
	Recommended float64 // 80 % of the limit
	Holds       float64 // the highest rate that holds, with all lower ones
	Breaks      float64 // the lowest rate that does not
}

// Highest finds the limit among rates in any order.
func Highest(points []Point) (l Limit) {
	for _, p := range sorted(points) {
		switch {
		case l.Breaks != 0: // what holds above is noise
		case p.Holds:
			l.Holds = p.At
		default:
			l.Breaks = p.At
		}
	}
	l.Recommended = RecommendedShare * l.Holds
	return l
}

// Fewest returns the least value that holds with all above it, and the highest of
// those below, which does not. Either may be missing, as 0.
func Fewest(points []Point) (holds, fails float64) {
	for _, p := range slices.Backward(sorted(points)) {
		if !p.Holds {
			return holds, p.At
		}
		holds = p.At
	}
	return holds, 0
}

func sorted(points []Point) []Point {
	return slices.SortedStableFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.At, b.At) })
}
