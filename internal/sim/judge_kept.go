package sim

import (
	"fmt"
	"slices"
	"strings"
)

// least returns how many of the hits are counted at least when a later call is decided.
func (a asked) least() int64 {
	if a.Settled == nil {
		return a.Cost
	}
	return min(a.Cost, a.Settled.Actual)
}

// conserved: of a rule with one window, what is counted at the end is what callers were
// allowed, with reservations as they were settled. Hits may be missing, or too many, if the
// limiter says that they are lost. A client that does not check a server's identity
// may settle at a stranger, where nothing was reserved.
func (h *History) conserved() string {
	if h.Terms.Blind && slices.ContainsFunc(h.Foreign, func(e Execution) bool { return strings.Contains(e.Text, "limit:") }) {
		return ""
	}
	for at, asks := range h.asked() {
		rule := &h.Terms.Rules[at.rule]
		if rule.Name != kept || h.lostOf(rule, at.key) {
			continue
		}
		least, most := -h.Kept.Lost, h.Kept.Lost
		for _, a := range asks {
			low, high := a.counts()
			least, most = least+low, most+high
		}
		if n := h.Kept.Counted[at.key]; n < least || n > most {
			return fmt.Sprintf("%q of %+v has %d hits at the end, want %d to %d; %d are lost", at.key, *rule, n, least, most, h.Kept.Lost)
		}
	}
	return ""
}

// counts returns between how many hits are counted of the request when all has settled.
func (a asked) counts() (least, most int64) {
	switch {
	case a.Err == nil && !a.admits():
		return 0, 0
	case a.Settled == nil:
		least, most = a.Cost, a.Cost
	case a.Settled.Err == nil:
		least, most = a.Settled.Actual, a.Settled.Actual
	default:
		least, most = min(a.Cost, a.Settled.Actual), max(a.Cost, a.Settled.Actual)
	}
	if a.Err != nil { // it is unknown whether Redis has counted it
		least, most = 0, max(a.Cost, most)
	}
	return least, most
}
