package sim

import (
	"strings"

	"github.com/redislanes/redislanes/internal/sim/model"
)

const (
	inside  = "10.0.0."   // hosts as servers name themselves
	outside = "192.0.2."  // where the client reaches them, in a world behind NAT
	nobody  = "10.9.9.9:" // a host that there is not
)

// reached returns the address at which the client reaches the node.
func (w *world) reached(n *model.Node) string {
	if w.settings.Proxy { // behind which all of them are
		n = w.nodes[0]
	}
	if !w.settings.NAT {
		return n.Addr()
	}
	return translated(n.Addr())
}

// listen lets a node be dialled, unless another one has its place behind a proxy or a name.
func (w *world) listen(n *model.Node) {
	elsewhere := w.settings.Proxy && n.Index() != 0 || w.elsewhereNamed(n)
	if elsewhere && w.hosts[n.Index()].Load() != nil {
		return
	}
	w.hosts[n.Index()].Store(w.net.Listen(w.reached(n), w.model.Serve(n)))
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
