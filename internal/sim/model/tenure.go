package model

import "time"

// A tenure is how long a node was the owner of a slot.
type tenure struct {
	owner int16
	until time.Time
}

// noteTenures notes which tenures end with a new truth.
func (c *Cluster) noteTenures(before, after *topology, now time.Time) {
	for slot, owner := range before.owner {
		if owner != after.owner[slot] {
			c.tenures[uint16(slot)] = append(c.tenures[uint16(slot)], tenure{owner, now})
		}
	}
}

// OwnedSince reports whether the node was, in truth, the slot's owner at some moment
// from then on.
func (c *Cluster) OwnedSince(slot uint16, n *Node, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := func(owner int16) bool { return owner >= 0 && c.nodes[owner] == n }
	if is(c.truth.owner[slot]) {
		return true
	}
	for _, t := range c.tenures[slot] {
		if is(t.owner) && !t.until.Before(since) {
			return true
		}
	}
	return false
}
