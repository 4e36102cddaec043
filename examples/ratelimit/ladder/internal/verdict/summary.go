package verdict

import (
	"math"

	"github.com/redislanes/redislanes/bench/verdict"
)

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

// A Plan is the rates of a ladder. No rate is higher than Max.
type Plan struct{ From, To, Step, Max int }

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
