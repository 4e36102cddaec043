package slots

import (
	"slices"

	"github.com/redislanes/redislanes"
)

// Diff returns what has changed from before to after. A nil table has no nodes.
func Diff[N Node](before, after *Table[N]) redislanes.TopologyChange {
	if before == nil {
		before = NewTable[N](nil, nil)
	}
	was, is := before.All(), after.All()
	return redislanes.TopologyChange{Joined: addrsWithout(is, was), Left: addrsWithout(was, is), Moved: moved(before, after)}
}

// moved returns how many slots have another owner.
func moved[N Node](before, after *Table[N]) (n int) {
	if before.Owner == after.Owner && slices.Equal(before.Nodes, after.Nodes) {
		return 0
	}
	for slot := range before.Owner {
		if before.addrOf(before.Owner[slot]) != after.addrOf(after.Owner[slot]) {
			n++
		}
	}
	return n
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
