package slots

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redislanes/redislanes"
)

// Diff returns what has changed from before to after. A nil table has no nodes.
func Diff[N Node](before, after *Table[N]) redislanes.TopologyChange {
	if before == nil {
		before = NewTable[N](nil, nil)
	}
	was, is := before.All(), after.All()
	change := redislanes.TopologyChange{Joined: addrsWithout(is, was), Left: addrsWithout(was, is), Owned: after.Covered(), Moves: moves(before, after)}
	for _, m := range change.Moves {
		change.Moved += m.Slots
	}
	return change
}

func moves[N Node](before, after *Table[N]) (sorted []redislanes.SlotsMoved) {
	if before.Owner == after.Owner && slices.Equal(before.Nodes, after.Nodes) {
		return nil
	}
	all := make(map[redislanes.SlotsMoved]int)
	from, to, m := uint16(NoOwner), uint16(NoOwner), redislanes.SlotsMoved{}
	for slot := range int32(Count) {
		if i, j := before.Owner[slot], after.Owner[slot]; i != from || j != to { // most slots are as the one before
			from, to, m = i, j, redislanes.SlotsMoved{From: before.addrOf(i), To: after.addrOf(j)}
		}
		if m.From != m.To {
			all[m]++
		}
	}
	for m, n := range all {
		m.Slots = n
		sorted = append(sorted, m)
	}
	slices.SortFunc(sorted, func(a, b redislanes.SlotsMoved) int {
		return cmp.Or(cmp.Compare(b.Slots, a.Slots), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return sorted
}

// addrOf returns the address of the i-th primary, "" for NoOwner.
func (t *Table[N]) addrOf(i uint16) string {
	if i == NoOwner {
		return ""
	}
	return t.Nodes[i].Addr()
}

// addrsWithout returns the sorted addresses of the nodes that are not among others.
func addrsWithout[N Node](nodes, others []N) []string {
	var addrs []string
	for _, n := range nodes {
		if !slices.ContainsFunc(others, func(o N) bool { return o.Addr() == n.Addr() }) {
			addrs = append(addrs, n.Addr())
		}
	}
	slices.Sort(addrs)
	return addrs
}
