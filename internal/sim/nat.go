package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
)

const (
	inside  = "10.0.0."   // hosts as servers name themselves
	outside = "192.0.2."  // where the client reaches them, in a world behind NAT
	nobody  = "10.9.9.9:" // a host that there is not
)

// reached returns the address at which the client reaches the node.
func (w *world) reached(n *model.Node) string {
	if !w.settings.NAT {
		return n.Addr()
	}
	return translated(n.Addr())
}

// listen lets a node be dialled.
func (w *world) listen(n *model.Node) {
	w.hosts[n.Index()].Store(w.net.Listen(w.reached(n), w.model.Serve(n)))
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

// translated is the AddrMap of a world behind NAT. It has no answer for its own answers:
// nobody is where it sends those that ask.
func translated(addr string) string {
	if host, ok := strings.CutPrefix(addr, inside); ok {
		return outside + host
	}
	_, port, _ := strings.Cut(addr, ":")
	return nobody + port
}
