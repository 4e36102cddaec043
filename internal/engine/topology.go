package engine

import "slices"

// A topology is which node owns which slot, at one moment. It is immutable:
// requests load it once and read it without a lock.
type topology struct {
	owner    [SlotCount]uint16 // index into nodes, or noOwner
	nodes    []*node           // primaries
	replicas [][]*node         // of each primary, sorted: servers name them in different orders
	near     []int             // how many of each primary's replicas, the first ones, are in the client's zone
	single   bool              // a server without cluster mode: keys of one command may be in any slots
	view     *view             // the map that is in use; owner differs by what MOVED has taught since
	version  uint64            // changes whenever a slot gets another owner
	learned  bool              // MOVED has taught something since

	home        uint16 // where commands without a key go: index into nodes, or noOwner
	homeReplica *node  // the same for those that go to replicas; nil if there are none
}

// newTopology builds a topology; find returns the node of an address.
func newTopology(v *view, find func(addr string) *node) *topology {
	t := &topology{view: v, home: noOwner}
	for i := range t.owner {
		t.owner[i] = noOwner
	}
	if v == nil {
		return t
	}
	t.single = v.single
	index := make(map[string]uint16)
	near := make(map[*node]bool)
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
				near[n] = replica.near
			}
		}
	}
	t.sortReplicas(near)
	t.settle(nil)
	return t
}

// settle chooses the nodes that commands without a key go to: those of the map
// before it (nil if there was none) as long as they are there, so that such
// commands find what others of them have left (SCRIPT LOAD, CONFIG SET, a SCAN
// that has begun); otherwise the owner of the lowest slot, which is the same for
// all clients, and its first replica. When they went to any node, EVALSHA did not
// find its script, and a SCAN loop mixed the keys of nodes.
func (t *topology) settle(before *topology) {
	t.home = noOwner
	if i := slices.IndexFunc(t.owner[:], func(i uint16) bool { return i != noOwner }); i >= 0 {
		t.home = t.owner[i]
	}
	if before != nil {
		if i := slices.Index(t.nodes, before.primary(noKey)); i >= 0 {
			t.home = uint16(i)
		}
		if old := before.homeReplica; old != nil && slices.ContainsFunc(t.replicas, func(of []*node) bool { return slices.Contains(of, old) }) {
			t.homeReplica = old
			return
		}
	}
	t.homeReplica = t.firstReplica()
}

// withoutHome returns a copy in which commands without a key go to another node,
// or t itself if no other one answers, as far as is known.
func (t *topology) withoutHome() *topology {
	for k := 1; k < len(t.nodes); k++ {
		i := (int(t.home) + k) % len(t.nodes)
		if t.nodes[i].answers(asPrimary) {
			next := *t
			next.home = uint16(i)
			return &next
		}
	}
	return t
}

// firstReplica returns a replica of home or, if it has none, of any node; nil if
// there are none at all.
func (t *topology) firstReplica() *node {
	if t.home != noOwner && len(t.replicas[t.home]) > 0 {
		return t.replicas[t.home][0]
	}
	for _, replicas := range t.replicas {
		if len(replicas) > 0 {
			return replicas[0]
		}
	}
	return nil
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
	next.nodes, next.replicas, next.near = slices.Clone(t.nodes), slices.Clone(t.replicas), slices.Clone(t.near)
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
			next.replicas, next.near = append(next.replicas, nil), append(next.near, 0)
		}
		next.owner[m.slot] = i
	}
	next.version++
	next.learned = true
	return &next
}

// sure reports whether the map in use has the IDs that servers give as their own.
func (t *topology) sure() bool { return t.view != nil && t.view.sure }

// taught returns what MOVED has taught since the map was fetched.
func (t *topology) taught() []lesson {
	if t.view == nil || !t.learned {
		return nil
	}
	var lessons []lesson
	is, was, differ := uint16(noOwner), uint16(noOwner), false
	for slot, i := range t.owner {
		if i == noOwner {
			continue // MOVED always names an owner
		}
		if j := t.view.owner[slot]; i != is || j != was { // most slots are as the one before
			c, ok := t.view.claimOf(slot)
			is, was, differ = i, j, !ok || c.addr != t.nodes[i].addr
		}
		if differ {
			lessons = append(lessons, lesson{uint16(slot), t.nodes[i].addr})
		}
	}
	return lessons
}

// movesSince returns what MOVED has taught since the topology was t.
func (t *topology) movesSince(before *topology) []move {
	if t == before {
		return nil
	}
	var moves []move
	for slot := range t.owner {
		if n := t.primary(int32(slot)); n != nil && n != before.primary(int32(slot)) {
			moves = append(moves, move{uint16(slot), n})
		}
	}
	return moves
}

// follows makes t a later version than before, if any slot has another owner.
func (t *topology) follows(before *topology) {
	t.version = before.version
	if t.owner != before.owner || !slices.Equal(t.nodes, before.nodes) {
		t.version++
	}
}

// primary returns the owner of the slot, or the node of commands without a key;
// nil if there is none.
func (t *topology) primary(slot int32) *node {
	i := t.home
	if slot >= 0 {
		i = t.owner[slot]
	}
	if i == noOwner {
		return nil
	}
	return t.nodes[i]
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
