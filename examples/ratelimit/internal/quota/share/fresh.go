package share

import (
	"slices"
	"time"
)

// fresh has the tokens that new assignments began with, in the order of time. A client that
// gets another assignment may have used all tokens of the one before, and begins with new ones.
type fresh struct{ entries []entry }

type entry struct {
	at     time.Time
	tokens int64
}

// add notes tokens. Those of a short time are one entry, so that there are few.
func (f *fresh) add(now time.Time, tokens int64, span time.Duration) {
	if n := len(f.entries); n > 0 && now.Sub(f.entries[n-1].at) < span/256 {
		f.entries[n-1].tokens += tokens
		f.entries[n-1].at = now
		return
	}
	f.entries = append(f.entries, entry{now, tokens})
}

// last notes that the last token may be used now.
func (f *fresh) last(now time.Time) {
	if n := len(f.entries); n > 0 && f.entries[n-1].tokens > 0 {
		f.entries[n-1].at = now
		return
	}
	f.entries = append(f.entries, entry{now, 1})
}

// sum returns the tokens since the time.
func (f *fresh) sum(since time.Time) (sum int64) {
	for i := len(f.entries) - 1; i >= 0 && f.entries[i].at.After(since); i-- {
		sum += f.entries[i].tokens
	}
	return sum
}

// forget drops what was before the time.
func (f *fresh) forget(before time.Time) {
	for len(f.entries) > 0 && !f.entries[0].at.After(before) {
		f.entries = f.entries[1:]
	}
}

// past has how much was in force, since when, in the order of time.
type past struct{ steps []entry }

func larger(a, b int64) int64  { return max(a, b) }
func smaller(a, b int64) int64 { return min(a, b) }

// note adds an amount that holds from now on. Of several within a short time one counts, such as the larger.
func (p *past) note(now time.Time, amount int64, span time.Duration, counts func(a, b int64) int64) {
	n := len(p.steps)
	switch {
	case n > 0 && p.steps[n-1].tokens == amount:
	case n > 0 && now.Sub(p.steps[n-1].at) < span/256:
		p.steps[n-1].tokens = counts(p.steps[n-1].tokens, amount)
	default:
		p.steps = append(p.steps, entry{now, amount})
	}
	for len(p.steps) > 1 && now.Sub(p.steps[1].at) >= span {
		p.steps = p.steps[1:]
	}
}

// most returns the most hits of all windows that now is in, if from now on so much is in force, with the
// tokens that new assignments began with, which count for a time after they were sent.
func (p *past) most(now time.Time, inForce int64, f *fresh, window, after time.Duration) float64 {
	most, area, end := float64(inForce), 0.0, time.Duration(0)
	before := most // of the window that begins at end
	for i := len(p.steps) - 1; ; i-- {
		begins := window
		if i >= 0 {
			begins = min(window, now.Sub(p.steps[i].at))
			area += float64(p.steps[i].tokens) * float64(begins-end)
		}
		hits := (area + float64(inForce)*float64(window-begins)) / float64(window)
		most = max(most, max(hits, before)+float64(f.sum(now.Add(-begins-after))))
		if before, end = hits, begins; i < 0 || begins == window {
			return most
		}
	}
}

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
