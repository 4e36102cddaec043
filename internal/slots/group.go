package slots

import (
	"math/bits"
	"slices"
)

// NoGroup is the group of a command whose slot has no owner.
const NoGroup = -1

// A Grouper groups the commands of pipelines. The zero value is ready. It may be reused, and
// is not safe for concurrent use. It holds only scratch memory, which grows with the largest
// pipeline.
type Grouper struct {
	cells []groupCell
	stamp uint32 // cells with another stamp are empty, so no call clears them
	shift uint8  // of the hash, for the cells that this call uses
}

type groupCell struct {
	stamp uint32
	key   uint16
	group int32
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
	if bySlot {
		g.reset(tableSize(len(slots)))
	} else {
		g.reset(nodes)
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
		var c *groupCell
		if bySlot {
			c = g.find(uint16(slot))
		} else {
			c = &g.cells[node]
		}
		if c.stamp != g.stamp {
			*c = groupCell{stamp: g.stamp, key: uint16(slot), group: next}
			next++
		}
		groups[i] = c.group
	}
	return groups, int(next)
}

// reset empties the table and makes it hold at least size cells.
func (g *Grouper) reset(size int) {
	if g.stamp++; g.stamp == 0 {
		clear(g.cells)
		g.stamp = 1
	}
	if len(g.cells) < size {
		g.cells = make([]groupCell, size)
	}
	g.shift = uint8(32 - bits.Len32(uint32(size-1)))
}

// tableSize returns a power of two that leaves half of the cells empty when
// each of n commands has a slot of its own.
func tableSize(n int) int {
	n = min(max(n, 1), Count)
	return 1 << bits.Len(uint(2*n-1))
}

// find returns the cell of a slot, or the empty one where it belongs.
func (g *Grouper) find(slot uint16) *groupCell {
	mask := uint32(1)<<(32-g.shift) - 1
	cells := g.cells[:mask+1]
	// Multiplying by 2^32 divided by the golden ratio spreads slots that
	// differ only in their high bits.
	for i := uint32(slot) * 0x9E3779B1 >> g.shift; ; i++ {
		c := &cells[i&mask]
		if c.stamp != g.stamp || c.key == slot {
			return c
		}
	}
}
