package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
)

const (
	// askedWithin is the time in which questions and renewals are bounded.
	askedWithin = 6 * time.Second

	// mostQuestions are those of a pool while its server makes writers wait: ever fewer, but
	// for replies to others, and moreQuestions those of one for slow commands. mostOfNothing
	// are those of a server with which nothing is the matter.
	mostQuestions = 12
	moreQuestions = 6
	mostOfNothing = 3

	// renewedWithin is a time in which connections are replaced five times, by renewals that do
	// not help, or seven times where pools inside, which are not always used, begin again.
	renewedWithin = 22 * time.Second
	mostRenewals  = 7
)

// An asking is what became of the dials to an address between two looks.
type asking struct {
	from, to  time.Duration
	questions int // dials that are no pool's
	refreshes int
}

// questions: a server is not asked for nothing whether it lives, and not all the time whether
// it still does. Dials that are none of pools, nor for a map, are such questions.
func questions(h *History) string {
	for addr, all := range h.askings() {
		for i := range all {
			n, k := 0, i
			for ; k >= 0 && all[i].to-all[k].from <= askedWithin; k-- {
				n += all[k].questions - 4*all[k].refreshes
				if k > 0 && all[k-1].to != all[k].from {
					k--
					break
				}
			}
			span := Span{all[min(k+1, i)].from, all[i].to}
			if most := h.mostQuestions(span); n > most {
				return fmt.Sprintf("%s: %d questions from %v to %v, where %d are the most", addr, n, span.From, span.To, most)
			}
		}
	}
	return ""
}

// mostQuestions returns how many questions are too few to complain of.
func (h *History) mostQuestions(s Span) int {
	most := mostOfNothing
	for _, f := range h.Faults {
		if f.overlaps(s.From-2*healing, s.To) {
			if !f.pauses || most != mostOfNothing || h.Terms.RoundTrip > 12*time.Millisecond || h.Terms.Stall < 2*time.Second {
				return 1 << 30
			}
			most = mostQuestions + moreQuestions*max(h.Terms.Askers-1, 0)
		}
	}
	return most
}

// askings returns by address what there was between looks, as long as its pools were the same.
func (h *History) askings() map[string][]asking {
	dialled := make(map[string][]time.Duration)
	for _, d := range h.Dials {
		dialled[d.Addr] = append(dialled[d.Addr], d.At)
	}
	all, before := make(map[string][]asking), look{}
	h.looks(func(l look) {
		for addr, pools := range l.dials {
			was, extra := before.dials[addr], 0
			same := len(was) == len(pools)
			for role, n := range pools {
				m, ok := was[role]
				same = same && ok && m <= n
				extra -= int(n) - int(m)
			}
			if !same {
				continue
			}
			from, _ := slices.BinarySearch(dialled[addr], before.at+1)
			to, _ := slices.BinarySearch(dialled[addr], l.at+1)
			all[addr] = append(all[addr], asking{before.at, l.at, extra + to - from, int(l.refreshes - before.refreshes)})
		}
		before = l
	})
	return all
}

// A look is what the client said of its dials at a moment.
type look struct {
	at        time.Duration
	dials     map[string]map[string]uint64 // by address and role
	refreshes uint64
}

// looks calls f with each, up to the time when the world breaks connections or is closed.
func (h *History) looks(f func(look)) {
	refreshes, count := 0, uint64(0)
	for i := 0; i < len(h.Samples); {
		at := h.Samples[i].At
		if h.closedBy(at) || len(h.Rest) > 0 && at >= h.Rest[0].At {
			return
		}
		l := look{at: at, dials: make(map[string]map[string]uint64)}
		for ; i < len(h.Samples) && h.Samples[i].At == at; i++ {
			s := &h.Samples[i]
			if l.dials[s.Addr] == nil {
				l.dials[s.Addr] = make(map[string]uint64)
			}
			l.dials[s.Addr][s.Role] = s.Pool.Dials
		}
		for ; refreshes < len(h.Refreshes) && h.Refreshes[refreshes].At <= at; refreshes++ {
			r := h.Refreshes[refreshes]
			count = uint64(r.Count + r.Asked)
		}
		l.refreshes = count
		f(l)
	}
}

// renewals: connections are not replaced all the time because the server has changed its
// role, if that does not help.
func renewals(h *History) string {
	if h.Terms.Stubborn {
		return "" // what was replaced is there for a while
	}
	seen := make(map[poolOf][]*Sample)
	for i := range h.Samples {
		s := &h.Samples[i]
		all := append(seen[s.of()], s)
		for all[0].At < s.At-renewedWithin || all[0].Pool.Closes[redislanes.CloseRenewed] > s.Pool.Closes[redislanes.CloseRenewed] {
			all = all[1:]
		}
		seen[s.of()] = all
		most := 0
		for _, was := range all {
			most = max(most, was.Pool.Open+was.Pool.Extra)
		}
		if n := s.Pool.Closes[redislanes.CloseRenewed] - all[0].Pool.Closes[redislanes.CloseRenewed]; n > uint64((mostRenewals+1)*(most+1)) {
			return fmt.Sprintf("%s (%s): %d connections were replaced from %v to %v, of %d at a time", s.Addr, s.Role, n, all[0].At, s.At, most)
		}
	}
	return ""
}
