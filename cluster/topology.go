package cluster

import (
	"math/rand/v2"
	"slices"
)

// A topology is which node owns which slot, at one moment. It is immutable:
// requests load it once and read it without a lock.
type topology struct {
	owner    [SlotCount]uint16 // index into nodes, or noOwner
	nodes    []*node           // primaries
	replicas [][]*node         // of each primary
	single   bool              // a server without cluster mode: keys of one command may be in any slots
	view     *view             // the map that is in use; owner differs by what MOVED has taught since
}

// newTopology builds a topology; find returns the node of an address.
func newTopology(v *view, find func(addr string) *node) *topology {
	t := &topology{view: v}
	for i := range t.owner {
		t.owner[i] = noOwner
	}
	if v == nil {
		return t
	}
	t.single = v.single
	index := make(map[string]uint16)
	for _, r := range v.ranges {
		if len(r.nodes) == 0 {
			continue
		}
		primary := r.nodes[0].addr
		i, ok := index[primary]
		if !ok {
			i = uint16(len(t.nodes))
			index[primary] = i
			t.nodes = append(t.nodes, find(primary))
			t.replicas = append(t.replicas, nil)
		}
		for slot := int(r.first); slot <= int(r.last); slot++ {
			t.owner[slot] = i
		}
		for _, replica := range r.nodes[1:] {
			if n := find(replica.addr); !slices.Contains(t.replicas[i], n) {
				t.replicas[i] = append(t.replicas[i], n)
			}
		}
	}
	return t
}

// A move is what a MOVED said: the slot has another owner.
type move struct {
	slot uint16
	to   *node
}

// withOwners returns a copy in which the slots have the owners that MOVED named,
// or t itself if they do already. The table of slots is copied once, however
// many moves there are.
func (t *topology) withOwners(moves []move) *topology {
	known := func(m move) bool { return t.primary(int32(m.slot)) == m.to }
	if !slices.ContainsFunc(moves, func(m move) bool { return !known(m) }) {
		return t
	}
	next := *t
	next.nodes, next.replicas = slices.Clone(t.nodes), slices.Clone(t.replicas)
	index := make(map[*node]uint16, len(next.nodes))
	for i, n := range next.nodes {
		index[n] = uint16(i)
	}
	for _, m := range moves {
		i, ok := index[m.to]
		if !ok {
			i = uint16(len(next.nodes))
			index[m.to] = i
			next.nodes = append(next.nodes, m.to)
			next.replicas = append(next.replicas, nil)
		}
		next.owner[m.slot] = i
	}
	return &next
}

// taught returns what MOVED has taught since the map was fetched.
func (t *topology) taught() []lesson {
	if t.view == nil {
		return nil
	}
	var lessons []lesson
	for slot, i := range t.owner {
		if i == noOwner {
			continue // MOVED always names an owner
		}
		addr := t.nodes[i].addr
		if c, ok := t.view.claimOf(slot); !ok || c.addr != addr {
			lessons = append(lessons, lesson{uint16(slot), addr})
		}
	}
	return lessons
}

// movesSince returns what MOVED has taught since the topology was t.
func (t *topology) movesSince(before *topology) []move {
	var moves []move
	for slot := range t.owner {
		if n := t.primary(int32(slot)); n != nil && n != before.primary(int32(slot)) {
			moves = append(moves, move{uint16(slot), n})
		}
	}
	return moves
}

// primary returns the owner of the slot, nil if there is none. Slot -1, of a
// command without a key, gives any node.
func (t *topology) primary(slot int32) *node {
	if slot < 0 {
		if len(t.nodes) == 0 {
			return nil
		}
		return t.nodes[rand.IntN(len(t.nodes))]
	}
	if i := t.owner[slot]; i != noOwner {
		return t.nodes[i]
	}
	return nil
}

// replica returns any replica of the slot's owner, nil if there is none.
func (t *topology) replica(slot int32) *node {
	if len(t.nodes) == 0 {
		return nil
	}
	i := rand.IntN(len(t.nodes))
	if slot >= 0 {
		if t.owner[slot] == noOwner {
			return nil
		}
		i = int(t.owner[slot])
	}
	if len(t.replicas[i]) == 0 {
		return nil
	}
	return t.replicas[i][rand.IntN(len(t.replicas[i]))]
}

// all returns primaries and replicas, each once.
func (t *topology) all() []*node {
	nodes := slices.Clone(t.nodes)
	for _, replicas := range t.replicas {
		for _, n := range replicas {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// covered returns how many slots have an owner.
func (t *topology) covered() int {
	n := 0
	for _, i := range t.owner {
		if i != noOwner {
			n++
		}
	}
	return n
}
