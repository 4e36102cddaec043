package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/limit"
)

// A countedBy is what servers have counted for a limit and a key that one call asks about,
// less what was taken back, and which servers did.
type countedBy struct {
	sum   int64
	nodes []string
}

// countedKeys returns that by the name of the rule and the key.
func (h *History) countedKeys() map[[2]string]*countedBy {
	all := make(map[[2]string]*countedBy)
	for i := range h.Log {
		e := &h.Log[i]
		part := strings.SplitN(e.Key, ":", 4) // limit:name:window:key
		by, ok := strings.CutPrefix(e.Text, "INCRBY "+e.Key+" ")
		if !ok || len(part) < 4 || part[0] != "limit" || !strings.HasPrefix(part[3], onesOwn) {
			continue
		}
		at := [2]string{part[1], part[3]}
		if all[at] == nil {
			all[at] = new(countedBy)
		}
		n, _ := strconv.ParseInt(by, 10, 64)
		if all[at].sum += n; !slices.Contains(all[at].nodes, e.Node) {
			all[at].nodes = append(all[at].nodes, e.Node)
		}
	}
	return all
}

// stays: what a call was denied is taken back where its keys are, whatever is the matter
// with other servers or has become of the caller.
func (h *History) stays(rule *limit.Rule, counted *countedBy, asks []asked) string {
	if counted == nil || rule.CountDenied || rule.Shadow || !h.Terms.Roomy || h.Terms.Stubborn {
		return ""
	}
	most := int64(0)
	for _, a := range asks {
		if a.call.Allowed || a.Err != nil || h.mayStay(a.call, counted.nodes) {
			most += a.Cost
		}
	}
	if counted.sum <= most {
		return ""
	}
	return fmt.Sprintf("%+v has counted %d, of which %d may stay so: %v", *rule, counted.sum, most, asks)
}

// mayStay reports whether something may be the matter with one of the servers until what
// the call was denied would be taken back.
func (h *History) mayStay(x *Allowance, nodes []string) bool {
	by := x.Ended + 2*h.Terms.Budget
	if h.closedBy(by) || h.crowded(&Call{Began: x.Began, Ended: by}) || h.replaced(x) {
		return true
	}
	return slices.ContainsFunc(h.Faults, func(f Fault) bool {
		return f.overlaps(x.Began-healing, by) && (!f.local || len(h.Nodes) == 0 || slices.Contains(nodes, h.Nodes[f.Node%len(h.Nodes)]))
	})
}

// replaced reports whether the only connection of a pool has reached its age about when
// something was to be taken back: it leaves before another one is there, for which the budget
// has no time.
func (h *History) replaced(x *Allowance) bool {
	if h.Terms.Law.Least != 1 || h.Terms.Budget > h.Terms.anew() {
		return false
	}
	return h.grew(x.Began-h.Terms.anew(), x.Ended+2*h.Terms.Budget, 1, func(s *Sample) uint64 { return s.Pool.Closes[redislanes.CloseAged] })
}

// waited reports whether callers waited for connections to a server about when something was
// to be taken back, for so long that the budget for that may have passed before it was sent:
// where they wait for each other, and counting the time that they waited for all of them.
func (h *History) waited(x *Allowance) bool {
	least := h.Terms.Budget - h.Terms.RoundTrip // for a hit that waits for another one on its key, too
	return !h.Terms.Roomy && h.grew(x.Began, x.Ended+2*h.Terms.Budget, uint64(max(1, least)), func(s *Sample) uint64 { return uint64(s.Pool.WaitTime) })
}

// grew reports whether the figure of some pool has grown by so much between the last look
// at it before the time and the first one after it.
func (h *History) grew(from, to time.Duration, least uint64, figure func(*Sample) uint64) bool {
	before := make(map[string]uint64) // by pool
	var last time.Duration            // look at them that tells
	for i := range h.Samples {
		s := &h.Samples[i]
		at, is := s.Addr+s.Role, figure(s)
		if last > 0 && s.At > last {
			return false
		}
		if s.At < from || is < before[at] { // a pool made anew begins with 0
			before[at] = is
		}
		if is >= before[at]+least {
			return true
		}
		if s.At >= to {
			last = s.At
		}
	}
	return false
}
