package slots

import "slices"

// NoGroup is the group of a command whose slot has no owner.
const NoGroup = -1

// A Grouper groups the commands of pipelines. The zero value is ready. It may be reused, and
// is not safe for concurrent use. It holds only scratch memory, which grows with the largest
// pipeline.
type Grouper struct {
	ofNode []int32         // the group of each node, and 1; 0: it has none yet
	ofSlot map[int32]int32 // the same for each slot
}

// Group returns the index of each command's group, 0 to n-1 in order of first appearance, in
// dst, which is grown as needed. slots has the slot of each command, or -1 without a key. owner
// has the index of the node that serves each slot, or NoOwner. home is the index of the node
// for commands without a key, and nodes the number of nodes. With bySlot, a group has the
// commands of one slot; without it, those of all slots of a node.
//
// Commands without a key are a slot of their own, which home serves. A command for a slot
// without an owner is in NoGroup, which n does not count.
func (g *Grouper) Group(dst []int32, slots []int32, owner *[Count]uint16, home uint16, nodes int, bySlot bool) (groups []int32, n int) {
	groups = slices.Grow(dst[:0], len(slots))[:len(slots)]
	g.ofNode = slices.Grow(g.ofNode[:0], nodes)[:nodes]
	clear(g.ofNode)
	clear(g.ofSlot)
	if bySlot && g.ofSlot == nil {
		g.ofSlot = make(map[int32]int32)
	}
	next := int32(0)
	for i, slot := range slots {
		node := uint16(NoOwner)
		switch {
		case slot < 0:
			node = home
		case slot < Count:
			node = owner[slot]
		}
		if int(node) >= nodes {
			groups[i] = NoGroup
			continue
		}
		group := g.ofNode[node]
		if bySlot {
			group = g.ofSlot[slot]
		}
		if group == 0 {
			next++
			if group = next; bySlot {
				g.ofSlot[slot] = group
			} else {
				g.ofNode[node] = group
			}
		}
		groups[i] = group - 1
	}
	return groups, int(next)
}
