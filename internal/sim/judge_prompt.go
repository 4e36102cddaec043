package sim

import (
	"fmt"
	"slices"
	"time"
)

// prompt: a call that has to do only with nodes that are well takes a few round trips,
// whatever is the matter with the others.
func prompt(h *History) string {
	// A connection that is replaced may take a second to end, and without a map other nodes
	// are asked first.
	if !h.Terms.Roomy || h.Terms.Stubborn || h.Terms.Blind {
		return ""
	}
	most := 12*h.Terms.RoundTrip + 20*time.Millisecond
	at := h.servers()
	for _, c := range h.Calls {
		if c.took() <= most || !slices.Contains(promptKinds, c.Kind) || c.Bulk || c.Err != nil || h.closedBy(c.Ended) || c.among(h.Crowds) {
			continue
		}
		if f := h.disturbs(c, at); f == nil {
			return fmt.Sprintf("call %d (%s) took %v, with a usual round trip of %v, and nothing was the matter where its keys are",
				c.ID, c.Kind, c.took(), h.Terms.RoundTrip)
		}
	}
	return h.besideEachOther()
}

// besideEachOther: of hits on one key by few callers at the same moment most take one round
// trip.
func (h *History) besideEachOther() string {
	all, late := 0, 0
	for _, c := range h.Calls {
		if c.Kind != beside || c.Err != nil || h.troubled(c.Began-healing, c.Ended) || h.closedBy(c.Ended) || c.among(h.Crowds) {
			continue
		}
		if all++; c.took() > h.Terms.RoundTrip {
			late++
		}
	}
	if late <= all/2 {
		return ""
	}
	return fmt.Sprintf("%d of %d hits took longer than %v, on a key that few callers hit at a time", late, all, h.Terms.RoundTrip)
}

// promptKinds are those of calls that need no connection of their own.
var promptKinds = []string{"pipeline", "values", "hits", "command", "push"}

// A servedAt is one time that a key was written, and where.
type servedAt struct {
	at   time.Duration
	node string
}

// servers returns for each key where it was written.
func (h *History) servers() map[string][]servedAt {
	all := make(map[string][]servedAt)
	for i := range h.Log {
		e := &h.Log[i]
		all[e.Key] = append(all[e.Key], servedAt{e.At, e.Node})
	}
	return all
}

// disturbs returns a fault that may have held up the call; nil: none.
func (h *History) disturbs(c *Call, at map[string][]servedAt) *Fault {
	for i := range h.Faults {
		f := &h.Faults[i]
		if !f.overlaps(c.Began-healing, c.Ended+1) {
			continue
		}
		if !f.local || len(h.Nodes) == 0 || slices.ContainsFunc(c.Commands, func(cmd Command) bool {
			return !c.writes(cmd.Key) || !h.elsewhere(at[cmd.Key], h.Nodes[f.Node%len(h.Nodes)], c)
		}) {
			return f
		}
	}
	return nil
}

// writes reports whether a command of the call writes the key: where one is that is only
// read, the log does not tell, since its slot may have moved since it was written.
func (c *Call) writes(key string) bool {
	return slices.ContainsFunc(c.Commands, func(cmd Command) bool { return cmd.Key == key && (cmd.Writes || cmd.Name == hit) })
}

// elsewhere reports whether the key was served by one node before and during the
// call, or next after it, which is another one.
func (h *History) elsewhere(served []servedAt, node string, c *Call) bool {
	now, from, to := "", c.Began, c.Ended
	for _, s := range served {
		if s.at <= c.Ended {
			from = s.at
		}
		switch {
		case s.at < c.Began-healing:
			now = s.node
		case s.at <= c.Ended && now != "" && s.node != now:
			return false // it has moved
		case now == "":
			now, to = s.node, max(to, s.at)
		}
	}
	return now != "" && now != node && !slices.ContainsFunc(h.Faults, func(f Fault) bool { return f.moves && f.overlaps(from, to) })
}
