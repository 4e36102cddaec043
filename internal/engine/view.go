package engine

import "slices"

// A view is which node owns which slot, as one server tells it. It does not
// change once it is made.
type view struct {
	owner   [SlotCount]uint16 // index into claims, or noOwner
	claims  []claim           // of the primaries that have slots
	ranges  []slotRange
	skips   []skip
	ids     map[string]bool   // of all nodes that the server knows; empty if it tells none
	at      map[string]placed // the nodes at an address
	sure    bool              // the IDs are those that the servers give in CLUSTER MYID
	single  bool              // cluster support is disabled
	follows bool              // and the server is a replica

	sentinels []string // that know of the primary; nil if none was asked
}

// A claim is a primary's to its slots. Of two nodes that claim a slot, the one
// with the greater config epoch is right (Redis Cluster specification,
// "Configuration epoch").
type claim struct {
	addr, id string
	epoch    uint64 // 0: the server does not tell
}

func (c claim) sameNode(d claim) bool {
	if c.id != "" && d.id != "" {
		return c.id == d.id
	}
	return c.addr == d.addr
}

// newView joins what a server replied to CLUSTER SLOTS and CLUSTER NODES. Of the
// second it may have told nothing.
func newView(ranges []slotRange, told nodesTold) *view {
	v := &view{ranges: ranges, ids: make(map[string]bool), at: placesOf(ranges)}
	for i := range v.owner {
		v.owner[i] = noOwner
	}
	for id := range told.epochs {
		v.ids[id] = true
	}
	index := make(map[string]uint16)
	for _, r := range ranges {
		for _, n := range r.nodes {
			if n.id != "" {
				v.ids[n.id] = true
			}
		}
		if len(r.nodes) == 0 {
			continue
		}
		primary := r.nodes[0]
		i, ok := index[primary.addr]
		if !ok {
			i = uint16(len(v.claims))
			index[primary.addr] = i
			v.claims = append(v.claims, claim{primary.addr, primary.id, told.epochs[primary.id]})
		}
		for slot := int(r.first); slot <= int(r.last); slot++ {
			v.owner[slot] = i
		}
	}
	return v
}

// singleView is that of a server without cluster mode, and of its replicas.
func singleView(addr string, replicas ...string) *view {
	all := slotRange{first: 0, last: SlotCount - 1, nodes: []nodeAddr{{addr: addr}}}
	for _, r := range replicas {
		all.nodes = append(all.nodes, nodeAddr{addr: r})
	}
	v := newView([]slotRange{all}, nodesTold{})
	v.single = true
	return v
}

// claimOf returns who claims the slot.
func (v *view) claimOf(slot int) (c claim, ok bool) {
	if i := v.owner[slot]; i != noOwner {
		return v.claims[i], true
	}
	return c, false
}

// covered returns how many slots have an owner.
func (v *view) covered() int {
	n := 0
	for _, i := range v.owner {
		if i != noOwner {
			n++
		}
	}
	return n
}

// agrees tells whether both give each slot to the same node.
func (v *view) agrees(w *view) bool {
	for slot := range v.owner {
		mine, ok := v.claimOf(slot)
		other, has := w.claimOf(slot)
		if ok != has || !mine.sameNode(other) {
			return false
		}
	}
	return true
}

// newest returns the greatest config epoch.
func (v *view) newest() uint64 {
	var epoch uint64
	for _, c := range v.claims {
		epoch = max(epoch, c.epoch)
	}
	return epoch
}

// knows tells whether any node is in both views. Without IDs it cannot be told
// that none is.
func (v *view) knows(w *view) bool {
	if len(v.ids) == 0 || len(w.ids) == 0 {
		return true
	}
	for id := range w.ids {
		if v.ids[id] {
			return true
		}
	}
	return false
}

// isPrimary tells whether the server, of which the ID may be unknown, is a
// primary with slots.
func (v *view) isPrimary(addr, id string) bool {
	return slices.ContainsFunc(v.claims, func(c claim) bool { return c.sameNode(claim{addr: addr, id: id}) })
}
