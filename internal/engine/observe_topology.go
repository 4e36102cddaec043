package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redislanes/redislanes"
)

// tellTopology tells the trace how the map in use differs from the one that it
// was told of last. Refreshes, which run one at a time, call it.
func (c *Client) tellTopology() {
	if c.cfg.Trace == nil || c.cfg.Trace.TopologyChanged == nil {
		return
	}
	l, after := &c.refreshLog, c.topology.Load()
	before := l.shown
	if before == nil {
		before = newTopology(nil, nil)
	}
	l.shown = after
	change := changeBetween(before, after)
	if change.Moved == 0 && len(change.Joined)+len(change.Left) == 0 {
		return
	}
	c.tell("Trace.TopologyChanged", func() { c.cfg.Trace.TopologyChanged(change) })
}

func changeBetween(before, after *topology) redislanes.TopologyChange {
	was, is := before.all(), after.all()
	change := redislanes.TopologyChange{Joined: addrsWithout(is, was), Left: addrsWithout(was, is), Owned: after.covered()}
	for s, n := range shiftsBetween(before, after) {
		change.Moved += n
		change.Moves = append(change.Moves, redislanes.SlotsMoved{From: named(s.from), To: named(s.to), Slots: n})
	}
	slices.SortFunc(change.Moves, func(a, b redislanes.SlotsMoved) int {
		return cmp.Or(cmp.Compare(b.Slots, a.Slots), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return change
}

// named is the address of a shift for a trace.
func named(addr string) string {
	if addr == nobody {
		return ""
	}
	return addr
}

// addrsWithout returns the sorted addresses of the nodes that are not among others.
func addrsWithout(nodes, others []*node) []string {
	var addrs []string
	for _, n := range nodes {
		if !slices.ContainsFunc(others, func(o *node) bool { return o.addr == n.addr }) {
			addrs = append(addrs, n.addr)
		}
	}
	slices.Sort(addrs)
	return addrs
}
