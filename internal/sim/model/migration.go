package model

import (
	"slices"
	"time"
)

// handover is for how long a node that gives slots away at once holds up writes before.
const handover = 3 * time.Millisecond

// Move begins to move slots as the server does, key by key or at once, and returns how many move and what ends
// that. It leaves out those that [Cluster.Migrate] would not move.
func (c *Cluster) Move(slots []uint16, to *Node) (moving int, finish func()) {
	slots = slices.DeleteFunc(slots, func(slot uint16) bool { return !c.migrate(slot, to, c.dialect.atomic) })
	return len(slots), func() {
		paused := make(map[*Node]time.Time)
		for _, slot := range slots {
			c.moving(slot, func(from, _ *Node, now time.Time) {
				if c.whole[slot] && !now.Before(from.pause.until) {
					from.pauseLocked(now.Add(2*handover), false)
					paused[from] = from.pause.until
				}
			})
		}
		if len(paused) > 0 {
			time.Sleep(handover)
		}
		for _, slot := range slots {
			c.FinishMigration(slot)
		}
		for from, until := range paused {
			from.lock(func(time.Time) {
				if from.pause.until.Equal(until) {
					from.unpause()
				}
			})
		}
	}
}

// Migrate begins to move a slot: its owner is MIGRATING, and the other node
// IMPORTING. It reports false, and does nothing, if the owner is that node, or either is no
// primary, cut off, or already moving the slot.
func (c *Cluster) Migrate(slot uint16, to *Node) bool { return c.migrate(slot, to, false) }

func (c *Cluster) migrate(slot uint16, to *Node, whole bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleAll(time.Now())
	from := c.ownerLocked(slot)
	if from == nil || from == to || from.cutOff || to.cutOff || from.own != nil || to.own != nil || from.source != nil || to.source != nil || from.migrating[slot] != nil || to.view.owner[slot] != int16(from.index) {
		return false
	}
	from.migrating[slot] = to
	to.importing[slot] = from
	c.whole[slot] = whole
	return true
}

// leaving returns the node to which a slot is on its way key by key; nil: to none, or it moves at once. coming reports
// whether a slot arrives key by key.
func (n *Node) leaving(slot uint16) *Node {
	if n.c.whole[slot] {
		return nil
	}
	return n.migrating[slot]
}

func (n *Node) coming(slot uint16) bool { return n.importing[slot] != nil && !n.c.whole[slot] }

// moving calls f with the nodes between which a slot is on its way, if it is and neither is cut off.
func (c *Cluster) moving(slot uint16, f func(from, to *Node, now time.Time)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.settleAll(now)
	from := c.ownerLocked(slot)
	if from == nil {
		return
	}
	if to := from.migrating[slot]; to != nil && !from.cutOff && !to.cutOff {
		f(from, to, now)
	}
}

// MoveKeys moves up to n keys of a slot that is being migrated, and returns how
// many are left.
func (c *Cluster) MoveKeys(slot uint16, n int) (left int) {
	c.moving(slot, func(from, to *Node, _ time.Time) {
		keys := from.inSlot(slot)
		c.moveKeys(from, to, keys[:min(n, len(keys))])
		left = max(len(keys)-n, 0)
	})
	return left
}

func (c *Cluster) moveKeys(from, to *Node, keys []string) {
	for _, key := range keys {
		to.put(key, from.keys[key].clone())
		from.remove(key)
	}
}

// FinishMigration moves the keys that are left, and makes the target the owner:
// it and the node that had the slot know at once, others when they hear of it.
func (c *Cluster) FinishMigration(slot uint16) {
	c.moving(slot, func(from, to *Node, now time.Time) {
		c.moveKeys(from, to, from.inSlot(slot))
		c.change(now, func(t *topology) {
			t.owner[slot] = int16(to.index)
			t.bump(to.index)
		}, from, to)
	})
}

// AbortMigration leaves the slot where it was. Keys that were moved go back.
func (c *Cluster) AbortMigration(slot uint16) {
	c.moving(slot, func(from, to *Node, _ time.Time) {
		c.moveKeys(to, from, to.inSlot(slot))
		delete(from.migrating, slot)
		delete(to.importing, slot)
	})
}

// forgetMigrations ends those from and to a node that is no primary any more. The
// keys that were moved are out of reach.
func (c *Cluster) forgetMigrations(n *Node) {
	for _, other := range c.nodes {
		for slot, to := range other.migrating {
			if to == n || other == n {
				c.loseSlot(to, slot)
				delete(other.migrating, slot)
			}
		}
		for slot, from := range other.importing {
			if from == n || other == n {
				delete(other.importing, slot)
			}
		}
	}
}

func (c *Cluster) loseSlot(n *Node, slot uint16) {
	for _, key := range n.inSlot(slot) {
		c.lost[key] = time.Now()
		n.remove(key)
	}
}

// Migrating returns the slots that are on their way, in order.
func (c *Cluster) Migrating() (slots []uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		for slot := range n.migrating {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	return slots
}

// Unassign takes slots, first to last, from their owners, with their keys: nobody
// serves them. Assign gives them to a primary again.
func (c *Cluster) Unassign(first, last uint16) { c.assign(first, last, -1) }

// Assign gives slots, first to last, to a primary. What keys they had elsewhere
// is lost.
func (c *Cluster) Assign(first, last uint16, to *Node) { c.assign(first, last, to.index) }

func (c *Cluster) assign(first, last uint16, to int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var told []*Node
	if to >= 0 {
		told = append(told, c.nodes[to])
	}
	c.change(time.Now(), func(t *topology) {
		for slot := int(first); slot <= int(last); slot++ {
			t.owner[slot] = int16(to)
		}
		if to >= 0 {
			t.bump(to)
		}
	}, told...)
}

func (c *Cluster) settleAll(now time.Time) {
	for _, n := range slices.Concat(c.nodes, c.sentinels) {
		n.settle(now)
	}
}
