package simnet

import (
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A Network connects diallers with hosts. [New] makes it. Its methods, and those
// of what it makes, are safe for concurrent use.
type Network struct {
	seed uint64

	// mu guards what follows; it is taken before a wire's.
	mu      sync.Mutex
	hosts   map[string]*Host
	links   map[[2]string]uint64 // how many connections there were from a dialler to an address
	wires   []*wire              // that are open at one end at least, in the order in which they were made
	imposed []*imposition
	dials   []string // their addresses
	closed  bool
}

// New returns a network without hosts.
func New(seed uint64) *Network {
	return &Network{seed: seed, hosts: make(map[string]*Host), links: make(map[[2]string]uint64)}
}

// Close resets all connections and refuses all dials. A dial that got no answer is refused
// with its next try.
func (n *Network) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.Cut("", "", 1)
}

// A Host is what listens at an address.
type Host struct {
	network *Network
	addr    string
	serve   func(net.Conn)
}

// Listen makes serve be called, on a goroutine of its own, for each connection
// to addr, which it has for itself; when it returns, the connection is closed.
// Whoever listened there before does so no longer.
func (n *Network) Listen(addr string, serve func(net.Conn)) *Host {
	h := &Host{n, addr, serve}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[addr] = h
	return h
}

// Close makes the host listen no longer. Its connections stay open.
func (h *Host) Close() {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	if h.network.hosts[h.addr] == h {
		delete(h.network.hosts, h.addr)
	}
}

// Kill closes the host and its ends of all connections, as the end of its process
// would.
func (h *Host) Kill() {
	h.Close()
	for _, w := range h.network.chosen("", h.addr, 1) {
		if w.host == h {
			_ = w.server.Close()
		}
	}
}

// Cut resets connections, at both ends at once: bytes on their way are lost. Each
// open connection from a dialler to an address is chosen with probability share;
// an empty string stands for all of them.
func (n *Network) Cut(from, addr string, share float64) {
	for _, w := range n.chosen(from, addr, share) {
		w.cut()
	}
}

// Vanish leaves connections half open: the servers' ends are gone, bytes on their
// way are lost, and the other ends do not learn of it. Connections are chosen as by
// [Network.Cut].
func (n *Network) Vanish(from, addr string, share float64) {
	for _, w := range n.chosen(from, addr, share) {
		w.vanish()
	}
}

// Forget resets the connections that are half open, so that their diallers learn of it.
func (n *Network) Forget(from, addr string) {
	for _, w := range n.chosen(from, addr, 1) {
		w.mu.Lock()
		halfOpen := !w.toClient.deaf && w.toServer.deaf
		w.mu.Unlock()
		if halfOpen {
			w.cut()
		}
	}
}

// VanishUsed is [Network.Vanish] for the connection that the dialler has written to last.
func (n *Network) VanishUsed(from, addr string) {
	if w := n.lastUsed(from, addr); w != nil {
		w.vanish()
	}
}

// SlowUsed makes bytes to the dialler travel longer on that connection, while all others are well. The result
// lifts that, also if the connection has ended.
func (n *Network) SlowUsed(from, addr string, by time.Duration) (lift func()) {
	w := n.lastUsed(from, addr)
	if w == nil {
		return func() {}
	}
	w.delay(by)
	return func() { w.delay(0) }
}

func (n *Network) lastUsed(from, addr string) (last *wire) {
	at := int64(0)
	for _, w := range n.chosen(from, addr, 1) {
		w.mu.Lock()
		if !w.toClient.deaf && w.used >= at {
			last, at = w, w.used
		}
		w.mu.Unlock()
	}
	return last
}

// chosen returns open connections; whether one is among them, it decides for
// itself.
func (n *Network) chosen(from, addr string, share float64) []*wire {
	n.mu.Lock()
	defer n.mu.Unlock()
	which := imposition{from: from, addr: addr}
	var chosen []*wire
	for _, w := range n.wires {
		if which.concerns(w.from, w.addr) && w.chance() < share {
			chosen = append(chosen, w)
		}
	}
	return chosen
}

// newWireLocked makes a connection to the host.
func (n *Network) newWireLocked(from string, h *Host, c Conditions) *wire {
	key := [2]string{from, h.addr}
	n.links[key]++
	count := n.links[key]
	near := address(from + ":" + strconv.FormatUint(1<<15+count, 10))
	w := newWire(n, from, h, near, hash(from)^hash(h.addr)*31+count)
	w.apply(c, c)
	n.wires = append(n.wires, w)
	return w
}

// forget is called when both ends of a connection are closed.
func (n *Network) forget(w *wire) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wires = slices.DeleteFunc(n.wires, func(o *wire) bool { return o == w })
}

// hash is FNV-1a: the same in every process.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// address is a net.Addr of the network "tcp".
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
