package slots

import (
	"fmt"
	"slices"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

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
