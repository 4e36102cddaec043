package engine

import (
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/guard"
)

// replica returns the replica for commands of the slot, or that of commands without a
// key; nil if there is none that is up, as far as is known, and not among those to avoid.
// It is the same one while it is up and the owner's replicas are the same: another one has
// other cursors, and may lag further behind. Those in the client's zone come first.
func (t *topology) replica(slot int32, avoid []*node) *node {
	if slot >= 0 {
		if t.owner[slot] == noOwner {
			return nil
		}
		return t.replicaOf(int(t.owner[slot]), int(slot), avoid)
	}
	if t.homeReplica == nil || t.homeReplica.isReadable(avoid) {
		return t.homeReplica
	}
	home := int(t.home)
	if t.home == noOwner {
		home = 0
	}
	for k := range t.replicas {
		if n := t.replicaOf((home+k)%len(t.replicas), 0, avoid); n != nil {
			return n
		}
	}
	return nil
}

// replicaOf chooses among the replicas of the i-th primary. Slots are shared out among
// those of one zone.
func (t *topology) replicaOf(i, slot int, avoid []*node) *node {
	near := t.near[i]
	for _, replicas := range [...][]*node{t.replicas[i][:near], t.replicas[i][near:]} {
		for k := range replicas {
			if n := replicas[(slot+k)%len(replicas)]; n.isReadable(avoid) {
				return n
			}
		}
	}
	return nil
}

func (n *node) isReadable(avoid []*node) bool {
	return n.answers(asReplica) && !slices.Contains(avoid, n)
}

// sortReplicas brings the replicas of each primary in an order that does not depend on the
// server which told of them: those that are near first.
func (t *topology) sortReplicas(near map[*node]bool) {
	t.near = make([]int, len(t.replicas))
	for i, replicas := range t.replicas {
		slices.SortFunc(replicas, func(a, b *node) int {
			if near[a] != near[b] {
				if near[a] {
					return -1
				}
				return 1
			}
			return strings.Compare(a.addr, b.addr)
		})
		for t.near[i] < len(replicas) && near[replicas[t.near[i]]] {
			t.near[i]++
		}
	}
}

// located is an answer of which the nodes in the client's zone are known.
func (c *Client) located(a answer) answer {
	if a.err == nil {
		a.err = c.locate(a.view)
	}
	return a
}

// locate notes which nodes of a map are in the client's zone. It calls a function of the
// user's.
func (c *Client) locate(v *view) (err error) {
	if c.cfg.Zone == "" {
		return nil
	}
	known := make(map[string]string) // a node may be in thousands of ranges
	for _, r := range v.ranges {
		for i := range r.nodes {
			n := &r.nodes[i]
			zone, ok := known[n.addr]
			if !ok {
				if zone, err = c.zoneOf(*n); err != nil {
					return err
				}
				known[n.addr] = zone
			}
			n.near = zone == c.cfg.Zone
		}
	}
	return nil
}

// zoneOf returns the zone of a node: what ZoneOf says or, if that does not know, what the
// servers tell.
func (c *Client) zoneOf(n nodeAddr) (zone string, err error) {
	if c.cfg.ZoneOf == nil {
		return n.zone, nil
	}
	defer guard.Catch("Config.ZoneOf", &err)
	if zone = c.cfg.ZoneOf(n.addr); zone == "" {
		zone = n.zone
	}
	return zone, nil
}
