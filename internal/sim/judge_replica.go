package sim

import (
	"fmt"
	"slices"
	"time"
)

// replicaKinds are those of calls that read from replicas.
var replicaKinds = []string{"secondary", "replicas"}

// replicated: what a replica does not answer, the primary does. So while one node is in
// trouble, a read whose key's primary is another one succeeds, if half of its time, which
// is for a replica that is silent, is enough for a few round trips.
func replicated(h *History) string {
	if !h.Terms.Roomy || h.Terms.FewCalls || h.Terms.Stubborn || h.Terms.Blind {
		return ""
	}
	at, least := h.servers(), 2*(12*h.Terms.RoundTrip+20*time.Millisecond)
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		switch {
		case cmd.Outcome == Acked, !slices.Contains(replicaKinds, c.Kind), !c.Deadline, c.Limit-c.Began < least:
			return ""
		case isTooMuch(cmd.Err), h.closedBy(c.Ended), h.crowded(c):
			return ""
		}
		f := h.only(c)
		if f == nil || f.slack > 0 || !h.spares(f, at[cmd.Key], c) {
			return ""
		}
		return fmt.Sprintf("%s: failed after %v during %q, which its key's primary has nothing to do with: %v", c.of(i), c.took(), f.name, cmd.Err)
	})
}

// spares reports whether the fault is of other nodes than the primary of the key.
func (h *History) spares(f *Fault, served []servedAt, c *Call) bool {
	return f.replicas || f.local && len(h.Nodes) > 0 && h.elsewhere(served, h.Nodes[f.Node%len(h.Nodes)], c)
}
