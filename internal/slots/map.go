package slots

import "slices"

// A Map is which node owns which slot, as one server tells it. It does not
// change once it is made.
type Map struct {
	owner   [Count]uint16 // index into Claims, or NoOwner
	Claims  []Claim       // of the primaries that have slots
	Ranges  []Range
	Skips   []Skip
	ids     map[string]bool // of all nodes, or Sentinels, that the server knows; empty if it tells none
	at      map[string]ids  // the nodes at an address
	Sure    bool            // the IDs are those that the servers give in CLUSTER MYID
	Single  bool            // cluster support is disabled
	Follows bool            // and the server is a replica

	Sentinels []string // that know of the primary; nil if none was asked
}

// A Claim is a primary's to its slots. Of two nodes that claim a slot, the one
// with the greater config epoch is right (Redis Cluster specification,
// "Configuration epoch").
type Claim struct {
	Addr, ID string
	Epoch    uint64 // 0: the server does not tell
}

func (c Claim) sameNode(d Claim) bool {
	if c.ID != "" && d.ID != "" {
		return c.ID == d.ID
	}
	return c.Addr == d.Addr
}

// NewMap joins what a server replied to CLUSTER SLOTS and CLUSTER NODES. Of the
// second it may have told nothing.
func NewMap(ranges []Range, told NodesReply) *Map {
	m := &Map{owner: unowned(), Ranges: ranges, ids: make(map[string]bool), at: placesOf(ranges)}
	for id := range told.Epochs {
		m.ids[id] = true
	}
	index := make(map[string]uint16)
	for _, r := range ranges {
		for _, n := range r.Nodes {
			if n.ID != "" {
				m.ids[n.ID] = true
			}
		}
		if len(r.Nodes) == 0 {
			continue
		}
		primary := r.Nodes[0]
		i, ok := index[primary.Addr]
		if !ok {
			i = uint16(len(m.Claims))
			index[primary.Addr] = i
			m.Claims = append(m.Claims, Claim{primary.Addr, primary.ID, told.Epochs[primary.ID]})
		}
		for slot := int(r.First); slot <= int(r.Last); slot++ {
			m.owner[slot] = i
		}
	}
	return m
}

// Single returns the map of a server without cluster mode, and of its replicas.
func Single(addr string, replicas ...string) *Map {
	all := Range{First: 0, Last: Count - 1, Nodes: []NodeAddr{{Addr: addr}}}
	for _, r := range replicas {
		all.Nodes = append(all.Nodes, NodeAddr{Addr: r})
	}
	m := NewMap([]Range{all}, NodesReply{})
	m.Single = true
	return m
}

// claimOf returns the claim to the slot.
func (m *Map) claimOf(slot int) (c Claim, ok bool) {
	if i := m.owner[slot]; i != NoOwner {
		return m.Claims[i], true
	}
	return c, false
}

// agrees tells whether both give each slot to the same node.
func (m *Map) agrees(w *Map) bool {
	for slot := range m.owner {
		mine, ok := m.claimOf(slot)
		other, has := w.claimOf(slot)
		if ok != has || !mine.sameNode(other) {
			return false
		}
	}
	return true
}

// newest returns the greatest config epoch.
func (m *Map) newest() uint64 {
	var epoch uint64
	for _, c := range m.Claims {
		epoch = max(epoch, c.Epoch)
	}
	return epoch
}

// knows tells whether any node is in both maps. Without IDs it cannot be told
// that none is.
func (m *Map) knows(w *Map) bool {
	if len(m.ids) == 0 || len(w.ids) == 0 {
		return true
	}
	for id := range w.ids {
		if m.ids[id] {
			return true
		}
	}
	return false
}

// isPrimary tells whether the server is a primary with slots. Its ID may be unknown.
func (m *Map) isPrimary(addr, id string) bool {
	return slices.ContainsFunc(m.Claims, func(c Claim) bool { return c.sameNode(Claim{Addr: addr, ID: id}) })
}
