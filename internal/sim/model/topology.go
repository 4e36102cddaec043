package model

import (
	"slices"
	"time"
)

// A topology is who owns which slot, and who replicates whom. It does not change
// once it is told to nodes.
type topology struct {
	owner   [SlotCount]int16 // index of a node; -1: nobody
	primary []int            // of each node; -1: it is one itself
	epoch   []uint64         // of each node's claim to its slots
	failed  []bool
	absent  []bool      // nil: none
	current uint64      // the greatest epoch that was ever
	rows    []slotRange // of owner; nil until somebody asks
}

func firstTopology(primaries, nodes int, epoch uint64) *topology {
	t := &topology{
		primary: make([]int, nodes), epoch: make([]uint64, nodes), failed: make([]bool, nodes),
		current: uint64(nodes) + epoch,
	}
	for i := range primaries {
		for slot := i * SlotCount / primaries; slot < (i+1)*SlotCount/primaries; slot++ {
			t.owner[slot] = int16(i)
		}
	}
	for i := range nodes {
		t.epoch[i] = uint64(i+1) + epoch
		if t.primary[i] = -1; i >= primaries {
			t.primary[i] = i % primaries
			t.epoch[i] = t.epoch[i%primaries]
		}
	}
	return t
}

func (t *topology) clone() *topology {
	u := *t
	u.rows = nil
	u.primary, u.epoch, u.failed = slices.Clone(t.primary), slices.Clone(t.epoch), slices.Clone(t.failed)
	return &u
}

// bump gives the node an epoch that is greater than all others.
func (t *topology) bump(node int) {
	t.current++
	t.epoch[node] = t.current
}

// A slotRange is slots in a row of one owner.
type slotRange struct{ first, last, owner int }

// ranges returns all ranges with an owner, in order.
func (t *topology) ranges() []slotRange {
	if t.rows == nil {
		t.rows = t.findRanges()
	}
	return t.rows
}

func (t *topology) findRanges() (all []slotRange) {
	for slot := 0; slot < SlotCount; {
		first := slot
		for slot++; slot < SlotCount && t.owner[slot] == t.owner[first]; slot++ {
		}
		if owner := int(t.owner[first]); owner >= 0 {
			all = append(all, slotRange{first, slot - 1, owner})
		}
	}
	return all
}

// replicas returns a primary's, but for those that have failed.
func (t *topology) replicas(primary int) (all []int) {
	for i, p := range t.primary {
		if p == primary && !t.failed[i] {
			all = append(all, i)
		}
	}
	return all
}

// A lesson is a topology that a node learns at its time.
type lesson struct {
	at   time.Time
	view *topology
}

// change makes a new truth. The nodes told learn it at once, others when they
// hear of it.
func (c *Cluster) change(now time.Time, f func(*topology), told ...*Node) {
	next := c.truth.clone()
	f(next)
	c.noteTenures(c.truth, next, now)
	c.truth = next
	c.settleLater()
	for _, n := range slices.Concat(c.nodes, c.sentinels) {
		if n.own != nil {
			continue
		}
		if slices.Contains(told, n) {
			n.learning = nil
			n.adopt(next, now)
			continue
		}
		n.learning = append(n.learning, lesson{now.Add(c.gossip), next})
		n.settle(now)
	}
}

// settleLater has all nodes hear of the last change when they are due, and not only when a client asks:
// Sentinels tell servers at once.
func (c *Cluster) settleLater() {
	if len(c.sentinels) == 0 {
		return
	}
	time.AfterFunc(c.gossip, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.settleAll(time.Now())
	})
}

// settle makes the node what it is by now: it adopts the topologies that it has
// heard of, and applies what its primary has sent.
func (n *Node) settle(now time.Time) {
	if len(n.learning) > 0 && !n.deaf && !n.cutOff && n.up() {
		i := len(n.learning) - 1
		for ; i >= 0 && n.learning[i].at.After(now); i-- {
		}
		if i >= 0 {
			view := n.learning[i].view
			n.learning = slices.Delete(n.learning, 0, i+1)
			was := n.source
			n.adopt(view, now)
			if len(n.c.sentinels) > 0 && was == nil && n.source != nil {
				n.hangUpAll() // Sentinels send CLIENT KILL TYPE normal behind REPLICAOF
			}
		}
	}
	if n.source != nil {
		n.replicate(now)
	}
}

// adopt makes a topology the node's view: it may have another role, and have lost
// slots with their keys.
func (n *Node) adopt(t *topology, now time.Time) {
	switch {
	case t == n.view:
		return
	case n.sentinel:
		n.hear(t)
		return
	}
	n.view = t
	p := t.primary[n.index]
	switch {
	case p < 0 && n.source != nil:
		n.replicate(now)
		n.source = nil
	case p >= 0 && n.source != n.c.nodes[p]:
		n.demote(n.c.nodes[p], now)
	}
	if n.source == nil {
		n.dropForeign()
	}
	n.redirectBlocked()
}

// dropForeign deletes the keys of slots that others own by now, and forgets
// migrations that are over.
func (n *Node) dropForeign() {
	me := int16(n.index)
	for slot := range n.migrating {
		if n.view.owner[slot] != me {
			delete(n.migrating, slot)
		}
	}
	for slot := range n.importing {
		if n.view.owner[slot] == me {
			delete(n.importing, slot)
		}
	}
	for key := range n.keys {
		slot := Slot([]byte(key))
		if n.view.owner[slot] != me && n.importing[slot] == nil {
			n.c.lost[key] = time.Now()
			n.remove(key)
		}
	}
}

// redirectBlocked sends away those who wait for keys that are elsewhere by now.
func (n *Node) redirectBlocked() {
	for _, p := range slices.Clone(n.blocked) {
		slot := Slot(p.keys[0])
		owner := int(n.view.owner[slot])
		if owner == n.index {
			continue
		}
		if owner < 0 {
			p.out.err(errUnbound)
		} else {
			p.out.errorf("MOVED %d %s", slot, n.c.nodes[owner].redirect())
		}
		p.finish()
	}
}
