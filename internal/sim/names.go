package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
)

// In some worlds the nodes of a shard have one name in the DNS, and announce that. It leads
// to the node that is the shard's primary, at once or some seconds later. Connections from
// before stay with the other one.

// A naming is how these names follow failovers.
type naming struct {
	Shared bool
	Late   time.Duration // by how much
}

// chooseNames chooses whether nodes of a shard share their name.
func (s *Settings) chooseNames(r *rand.Rand) {
	if !chance(r, 10) || s.Unset || s.NAT || s.OneHost || s.NoCluster || s.Sentinels {
		return
	}
	s.Names.Shared, s.Replicas = true, max(s.Replicas, 1)
	s.Names.Late = oneOf(r, 0, 0, 3*time.Second)
}

// named returns the address that a node announces.
func (s *Settings) named(i int) string { return fmt.Sprintf("shard%d.example:6379", i%s.Primaries) }

// shardOf returns the number of a node's shard.
func (w *world) shardOf(n *model.Node) int { return n.Index() % w.settings.Primaries }

// follow makes the name of the node's shard lead to its new primary. Of two failovers at the same
// moment, either may be told first.
func (w *world) follow(n *model.Node) {
	time.AfterFunc(w.settings.Names.Late, func() {
		n := w.primary(n)
		old := w.nodes[w.leads[w.shardOf(n)].Swap(int32(n.Index()))]
		if old == n {
			return
		}
		w.hosts[old.Index()].Load().Close()
		if n.Up() {
			w.listen(n)
		}
	})
}

// elsewhereNamed reports whether the name of the node's shard leads to another one.
func (w *world) elsewhereNamed(n *model.Node) bool {
	return w.settings.Names.Shared && int(w.leads[w.shardOf(n)].Load()) != n.Index()
}

// nodesAt returns the nodes that the client reaches at the address.
func (w *world) nodesAt(addr string) (all []*model.Node) {
	for i := range w.addrs {
		if w.addrs[i] == addr {
			all = append(all, w.nodes[i])
		}
	}
	return all
}

// ownedSince reports whether the slot has been that of a node at the address since then.
func (w *world) ownedSince(slot uint16, addr string, since time.Time) bool {
	return slices.ContainsFunc(w.nodesAt(addr), func(n *model.Node) bool { return w.model.OwnedSince(slot, n, since) })
}
