package slots

import (
	"cmp"
	"slices"
	"strings"
)

// A Change is how a table differs from the one before it.
type Change struct {
	Joined, Left []string // addresses, sorted
	Shifts       []Shift  // most slots first
	Moved        int      // slots, in all shifts
	Owned        int      // slots that have an owner now
}

// A Shift is how many slots have gone from one address to another; "" is no owner.
type Shift struct {
	From, To string
	Slots    int
}

// Diff returns what has changed from before to after. A nil table has no nodes.
func Diff[N Node](before, after *Table[N]) Change {
	if before == nil {
		before = NewTable[N](nil, nil)
	}
	was, is := before.All(), after.All()
	change := Change{Joined: addrsWithout(is, was), Left: addrsWithout(was, is), Owned: after.Covered(), Shifts: shifts(before, after)}
	for _, s := range change.Shifts {
		change.Moved += s.Slots
	}
	return change
}

func shifts[N Node](before, after *Table[N]) (sorted []Shift) {
	if before.Owner == after.Owner && slices.Equal(before.Nodes, after.Nodes) {
		return nil
	}
	all := make(map[Shift]int)
	from, to, s := uint16(NoOwner), uint16(NoOwner), Shift{}
	for slot := range int32(Count) {
		if i, j := before.Owner[slot], after.Owner[slot]; i != from || j != to { // most slots are as the one before
			from, to, s = i, j, Shift{From: before.addrOf(i), To: after.addrOf(j)}
		}
		if s.From != s.To {
			all[s]++
		}
	}
	for s, n := range all {
		s.Slots = n
		sorted = append(sorted, s)
	}
	slices.SortFunc(sorted, func(a, b Shift) int {
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
