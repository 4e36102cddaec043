package sim

import (
	"fmt"
	"slices"
	"time"
)

// replicaKinds are those of calls that read from replicas.
var replicaKinds = []string{"secondary", "replicas"}

// replicated: what a replica does not answer, the primary does. So while one node is in
// trouble, a read whose key's primary is another one succeeds if it has time: half of it
// is for a replica that is silent.
func replicated(h *History) string {
	if !h.Terms.Roomy {
		return ""
	}
	at := h.servers()
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		if !slices.Contains(replicaKinds, c.Kind) || h.mayFail(c, cmd) || c.among(h.Crowds) {
			return ""
		}
		f := h.only(c)
		if f == nil || c.Limit-c.Began < 2*time.Second || !h.spares(f, at[cmd.Key], c) {
			return ""
		}
		return fmt.Sprintf("%s: failed during %q, which its key's primary has nothing to do with: %v", c.of(i), f.name, cmd.Err)
	})
}

// spares reports whether the fault is of other nodes than the primary of the key.
func (h *History) spares(f *Fault, served []servedAt, c *Call) bool {
	return f.replicas || f.local && len(h.Nodes) > 0 && h.elsewhere(served, h.Nodes[f.Node%len(h.Nodes)], c)
}
