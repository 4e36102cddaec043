package share

import (
	"slices"
	"time"
)

// longest is how many times to live a window may be long for which capacity is paid for. In a longer
// one, an instance would have to wait too long for its first token.
const longest = 6

// paid reports whether capacity is paid for.
func (s *Settings) paid() bool { return s.Window <= longest*s.TTL }

// paid reports whether the capacity that was here covers what was admitted here, with what is added, in
// each time until now that is no longer than a window. Another instance may have used the capacity
// that has come, and gets what goes. So what was admitted must not need capacity of the time to come.
func (r *round) paid(gain, tokens int64) bool {
	if r.force+gain+r.fresh.sum(r.now.Add(-r.span()))+tokens > r.capacity {
		return false
	}
	begins := []time.Time{r.now.Add(-r.s.Window)}
	for _, steps := range [][]entry{r.past.steps, r.capacities.steps} {
		for _, s := range steps {
			begins = append(begins, s.at)
		}
	}
	for _, e := range r.fresh.entries { // its tokens may have been used later
		begins = append(begins, e.at.Add(r.s.Delivery))
	}
	slices.SortFunc(begins, func(a, b time.Time) int { return b.Compare(a) })
	used, had := r.past.back(r.now), r.capacities.back(r.now)
	for _, begin := range begins {
		if r.now.Sub(begin) > r.s.Window {
			break
		}
		sum := float64(r.fresh.sum(begin.Add(-r.s.Delivery))+tokens) * float64(max(0, r.now.Sub(begin)))
		if used.to(begin)+sum > had.to(begin) {
			return false
		}
	}
	return true
}

// An area is amounts times the nanoseconds for which they held, from begin until now. The amount before
// the first step is taken to be that of the first step.
type area struct {
	steps []entry // not added completely
	begin time.Time
	sum   float64
}

func (p *past) back(now time.Time) *area { return &area{p.steps, now, 0} }

// to returns the area from an earlier time on.
func (a *area) to(begin time.Time) float64 {
	for last := len(a.steps) - 1; last >= 0 && begin.Before(a.begin); last-- {
		from, step := begin, a.steps[last]
		if last > 0 && step.at.After(begin) {
			from, a.steps = step.at, a.steps[:last]
		}
		if from.Before(a.begin) {
			a.sum += float64(step.tokens) * float64(a.begin.Sub(from))
			a.begin = from
		}
	}
	return a.sum
}
