package verdict

import "slices"

// A Plan is the rates of a ladder.
type Plan struct {
	From, To, Step int
	Max            int     // no rate is higher
	Refine         float64 // see Next; 0 for none
}

// Next returns the rate of the step that follows those that were run: from From to
// To in any case, and further on up to Max until one breaks or the driver lacks CPU. Then, with
// Refine, it halves the gap between the limit and the breaking point, if there are
// both, until it is no more than so many percent of the breaking point.
func (p Plan) Next(done []Step) (rate int, more bool) {
	highest, ended := 0, false
	for _, s := range done {
		highest = max(highest, s.Target)
		ended = ended || s.Verdict == Interrupted
	}
	sum := Summarize(done)
	switch next := min(highest+p.Step, p.Max); {
	case ended:
		return 0, false
	case highest == 0:
		return p.From, true
	case highest+p.Step <= p.To, next > highest && sum.Breaking == 0 && sum.Inconclusive == 0:
		return next, true
	}
	gap := sum.Breaking - sum.Limit
	if p.Refine == 0 || sum.Limit == 0 || gap < 2 || float64(gap) <= p.Refine/100*float64(sum.Breaking) {
		return 0, false
	}
	middle := sum.Limit + gap/2
	if slices.ContainsFunc(done, func(s Step) bool { return s.Target == middle }) {
		return 0, false // it was inconclusive, and would be again
	}
	return middle, true
}
