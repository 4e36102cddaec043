package slots

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

// A Map is which node owns which slot, by what servers have told. It does not change once it is
// made.
type Map struct {
	Kind    Kind
	Ranges  []Range // with an owner, sorted, none overlaps another one
	Skips   []Skip
	Tellers []string // the servers to ask for the next map; nil: its nodes
	Follows bool     // of a Server: it is a replica

	ids     map[string]bool   // of all nodes, or Sentinels, that the servers know; empty if they tell none
	at      map[string]places // the nodes at an address
	aliases map[string]string // other names of nodes, see Named
	sure    bool              // servers give these IDs as their own
}

// A Kind is what a map is of. Maps of different kinds have nothing in common.
type Kind uint8

// The kinds.
const (
	Cluster Kind = iota
	Watched      // one primary, as Sentinels tell
	Server       // one server without cluster mode, or a proxy
)

// NewMap joins what a server replied to CLUSTER SLOTS and CLUSTER NODES, of which it may have told
// nothing. self is the server's own ID, "" if it does not tell.
func NewMap(ranges []Range, epochs map[string]uint64, self string) *Map {
	for i := range ranges {
		if r := &ranges[i]; len(r.Nodes) > 0 {
			r.Epoch = epochs[r.Nodes[0].ID]
		}
	}
	m := newMap(ranges)
	m.know(epochs)
	m.sure = m.ids[self]
	return m
}

func newMap(ranges []Range) *Map {
	return &Map{Ranges: flat(ranges), ids: make(map[string]bool), at: placesOf(ranges)}
}

// know adds the IDs of the nodes in the ranges, and others that servers know.
func (m *Map) know(others map[string]uint64) {
	for id := range others {
		m.ids[id] = true
	}
	for _, r := range m.Ranges {
		for _, n := range r.Nodes {
			if n.ID != "" {
				m.ids[n.ID] = true
			}
		}
	}
}

// flat returns the ranges that have nodes, sorted. Of two that overlap, the second has the slots.
func flat(ranges []Range) []Range {
	var of [Count]uint16 // the number of the range, from 1 on
	for i, r := range ranges {
		for slot := int(r.First); slot <= int(r.Last) && len(r.Nodes) > 0; slot++ {
			of[slot] = uint16(i + 1)
		}
	}
	var sorted []Range
	for first := 0; first < Count; {
		last := first
		for last+1 < Count && of[last+1] == of[first] {
			last++
		}
		if i := of[first]; i > 0 {
			r := ranges[i-1]
			r.First, r.Last = uint16(first), uint16(last)
			sorted = append(sorted, r)
		}
		first = last + 1
	}
	return sorted
}

// Single returns the map of a server without cluster mode.
func Single(addr string) *Map { return one(Server, Range{Nodes: []NodeAddr{{Addr: addr}}}) }

// Watch returns the map of a primary, with its replicas, that Sentinels watch. They know each other
// by the IDs. Each failover has a greater epoch, beginning with 1. It is the primary's ID: another
// epoch is another server, also behind the same name.
func Watch(epoch uint64, primary string, replicas, tellers, ids []string) *Map {
	all := Range{Epoch: epoch, Nodes: []NodeAddr{{Addr: primary, ID: fmt.Sprint("epoch ", epoch)}}}
	for _, addr := range replicas {
		all.Nodes = append(all.Nodes, NodeAddr{Addr: addr})
	}
	m := one(Watched, all)
	m.Tellers = tellers
	for _, id := range ids {
		m.ids[id] = true
	}
	return m
}

func one(kind Kind, all Range) *Map {
	all.First, all.Last = 0, Count-1
	m := newMap([]Range{all})
	m.Kind = kind
	return m
}

// Addr returns the address of the first primary.
func (m *Map) Addr() string { return m.Ranges[0].Nodes[0].Addr }

// knows reports whether any node is in both maps, which are of one kind. Without IDs nobody can tell
// that none is.
func (m *Map) knows(w *Map) bool {
	if m.Kind != w.Kind {
		return false
	}
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

// owner returns the primary, with an ID if servers tell IDs.
func (r *Range) owner() NodeAddr { return r.Nodes[0] }

// sameOwner reports whether both give their slots to one node. Nil has no owner.
func (r *Range) sameOwner(s *Range) bool {
	if r == nil || s == nil {
		return r == s
	}
	return r.owner().is(s.owner().Addr, s.owner().ID)
}

// is reports whether the node has the ID or, if one of the two is unknown, the address.
func (n NodeAddr) is(addr, id string) bool {
	if n.ID != "" && id != "" {
		return n.ID == id
	}
	return n.Addr == addr
}

// eachRun calls f for each run of slots within which none of the maps changes its range. rows has the
// range of each map, nil where it has none; f must not keep it. A nil map has no ranges.
func eachRun(maps []*Map, f func(first, last int, rows []*Range)) {
	at, rows := make([]int, len(maps)), make([]*Range, len(maps))
	for first := 0; first < Count; {
		last := Count - 1
		for k, m := range maps {
			rows[k] = nil
			if m == nil {
				continue
			}
			for at[k] < len(m.Ranges) && int(m.Ranges[at[k]].Last) < first {
				at[k]++
			}
			switch r := at[k]; {
			case r == len(m.Ranges):
			case int(m.Ranges[r].First) > first:
				last = min(last, int(m.Ranges[r].First)-1)
			default:
				rows[k] = &m.Ranges[r]
				last = min(last, int(m.Ranges[r].Last))
			}
		}
		f(first, last, rows)
		first = last + 1
	}
}

// covered returns how many slots have an owner.
func (m *Map) covered() (n int) {
	for _, r := range m.Ranges {
		n += int(r.Last) - int(r.First) + 1
	}
	return n
}

// Named returns the map with the names of nodes by which they are in use, if they work there. A node
// is its ID: servers may call it by several names. The other name is an alias, for redirects. Names
// that several nodes share stay as they are.
func (m *Map) Named(use *Map, works func(addr string) bool) *Map {
	if use == nil {
		return m
	}
	now := make(map[string]string) // the names that servers tell, by ID
	for addr, p := range m.at {
		for _, id := range p.all {
			now[id] = addr
		}
	}
	kept, aliases := make(map[string]string), make(map[string]string)
	for old, p := range use.at {
		id := p.all[0]
		name := now[id]
		if len(p.all) > 1 || id == "" || name == "" || name == old || len(m.at[old].all) > 0 || !works(old) {
			continue
		}
		if kept[id] = old; len(m.at[name].all) == 1 {
			aliases[name] = old
		}
	}
	if len(kept) == 0 {
		return m
	}
	named := *m
	named.aliases, named.Ranges = aliases, renamed(m.Ranges, kept)
	named.at = placesOf(named.Ranges)
	return &named
}

// renamed returns the ranges with the names of nodes by their IDs.
func renamed(ranges []Range, names map[string]string) []Range {
	ranges = slices.Clone(ranges)
	for i := range ranges {
		nodes := slices.Clone(ranges[i].Nodes)
		for k, n := range nodes {
			if n.ID != "" {
				nodes[k].Addr = cmp.Or(names[n.ID], n.Addr)
			}
		}
		ranges[i].Nodes = nodes
	}
	return ranges
}

// InUse returns the address by which the node at addr is in use.
func (m *Map) InUse(addr string) string {
	if m == nil {
		return addr
	}
	return cmp.Or(m.aliases[addr], addr)
}

// NoOwnerError is why commands for the slot cannot be sent by the map; there may be no map.
func (m *Map) NoOwnerError(slot int32) error {
	if slot < 0 {
		return fmt.Errorf("no slot is served: %w: %w", redislanes.ErrNoOwner, redislanes.ErrNotSent)
	}
	if m != nil {
		for _, s := range m.Skips {
			if int32(s.First) <= slot && slot <= int32(s.Last) {
				return fmt.Errorf("slot %d: %w: its primary is left out of the map, %s: %w", slot, redislanes.ErrNoOwner, s.Why, redislanes.ErrNotSent)
			}
		}
	}
	return fmt.Errorf("slot %d: %w: %w", slot, redislanes.ErrNoOwner, redislanes.ErrNotSent)
}

// ClusterDisabled tells whether the reply says that the server has no cluster mode.
func ClusterDisabled(reply []byte) bool {
	return resp.IsError(reply) && fate.Of(resp.ErrorText(reply)) == fate.ClusterDisabled
}

// places are the IDs of the nodes that a map has at one address. There may be several: the nodes
// of a shard may share a host name. A node without an ID is "".
type places struct{ primaries, all []string }

func placesOf(ranges []Range) map[string]places {
	at := make(map[string]places)
	for _, r := range ranges {
		for i, n := range r.Nodes {
			p := at[n.Addr]
			if p.all = withID(p.all, n.ID); i == 0 {
				p.primaries = withID(p.primaries, n.ID)
			}
			at[n.Addr] = p
		}
	}
	return at
}

func withID(ids []string, id string) []string {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

// meant returns the IDs that a server at the address may have, for commands that are meant for a
// primary or for a replica.
func (m *Map) meant(primary bool, addr string) []string {
	if p := m.at[addr]; !primary || len(p.primaries) == 0 {
		return p.all
	}
	return m.at[addr].primaries
}

// Admits refuses a server at an address of the map that is none of the nodes which the
// map has there. For commands that are meant for a primary it has to be one, if the map
// has one there. The safe side is to admit: where the map or the server tells no ID, and
// at addresses that only redirects have named.
func (m *Map) Admits(primary bool, addr, id string) error {
	meant := m.meant(primary, addr)
	switch {
	case !m.sure || id == "" || len(meant) == 0 || slices.Contains(meant, id) || slices.Contains(meant, ""):
		return nil
	case !m.ids[id]:
		return fmt.Errorf("%w: its node ID is not in the map of the slots", redislanes.ErrWrongServer)
	case slices.Contains(m.at[addr].all, id):
		return fmt.Errorf("%w: it is a replica that shares the address of its primary", redislanes.ErrWrongServer)
	}
	return fmt.Errorf("%w: its node ID belongs to another address", redislanes.ErrWrongServer)
}

// Means reports whether the address leads to the same nodes by both maps, as far as they tell.
func (m *Map) Means(addr string, before *Map) bool {
	now, was := m.meant(true, addr), before.meant(true, addr)
	return len(now) == 0 || len(was) == 0 || slices.Contains(now, "") || slices.Contains(was, "") || sameIDs(now, was)
}

func sameIDs(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id string) bool { return !slices.Contains(b, id) })
}

// NodeID returns the ID in a reply to CLUSTER MYID, "" if there is none.
func NodeID(reply []byte) string {
	id, _ := Text(reply)
	return string(id)
}
