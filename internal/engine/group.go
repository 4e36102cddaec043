package engine

import "math/bits"

// noOwner marks a slot that no node serves in a table of owners.
const noOwner = 0xFFFF

// noGroup is the group of a command whose slot has no owner.
const noGroup = -1

// A grouper groups the commands of pipelines. It holds only scratch memory,
// whose size follows the largest pipeline that it has seen: the zero value is
// ready, it may be reused, and it is not safe for concurrent use.
type grouper struct {
	cells []groupCell
	stamp uint32 // cells with another stamp are empty, so no call clears them
	shift uint8  // of the hash, for the cells that this call uses
}

type groupCell struct {
	stamp uint32
	key   uint16
	group int32
}

// group returns for each command the index of its group, 0 to n-1 in order of
// first appearance, in dst, which is grown as needed. slots holds a slot per
// command or -1 for a command without a key, owner the index of the node that
// serves a slot or noOwner, home that of the node for commands without a key,
// nodes the number of nodes. The commands of a node are one group, or else those of each
// slot.
//
// Commands without a key are a slot of their own, which home serves. The group of
// a command whose slot has no owner is noGroup; n does not count it.
func (g *grouper) group(dst []int32, slots []int32, owner *[SlotCount]uint16, home uint16, nodes int, bySlot bool) (groups []int32, n int) {
	groups = resize(dst, len(slots))
	if bySlot {
		g.reset(tableSize(len(slots)))
	} else {
		g.reset(nodes)
	}
	next := int32(0)
	for i, slot := range slots {
		node := uint16(noOwner)
		switch {
		case slot < 0:
			node = home
		case slot < SlotCount:
			node = owner[slot]
		}
		if int(node) >= nodes {
			groups[i] = noGroup
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
func (g *grouper) reset(size int) {
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
	n = min(max(n, 1), SlotCount)
	return 1 << bits.Len(uint(2*n-1))
}

// find returns the cell of a slot, or the empty one where it belongs.
func (g *grouper) find(slot uint16) *groupCell {
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

func resize(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n)
	}
	return s[:n]
}
