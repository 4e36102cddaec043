package sim

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// A Host is a machine on which a program runs, with a path of its own to each node. Its faults leave other
// hosts alone. They concern the nodes that are named, or all nodes and Sentinels if none is, and last until
// [Host.Heal]. Clocks are not simulated: all hosts and nodes have the same one.
type Host struct {
	c     *Cluster
	name  string
	lifts lifts
}

// Host returns the host of that name. It exists from then on. [Cluster.Dial] is the dialer of the host "client".
func (c *Cluster) Host(name string) *Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[name]
	if h == nil {
		h = &Host{c: c, name: name}
		c.hosts[name] = h
	}
	return h
}

// Dial connects to an address of the cluster, as [net.Dialer.DialContext] does. The name of
// the network is ignored.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return h.c.net.Dialer(h.name)(ctx, network, addr)
}

// Isolate drops all packets between the host and the nodes. Nothing is answered, also no dial. Other hosts and
// nodes reach the nodes.
func (h *Host) Isolate(nodes ...*Node) { h.impose(simnet.Conditions{Partition: simnet.Both}, nodes) }

// HoldRequests is Isolate for packets to the nodes: what the host sends runs when it is healed.
func (h *Host) HoldRequests(nodes ...*Node) {
	h.impose(simnet.Conditions{Partition: simnet.ToServer}, nodes)
}

// HoldReplies is Isolate for packets from the nodes: commands on open connections run, and their replies arrive
// when the host is healed.
func (h *Host) HoldReplies(nodes ...*Node) {
	h.impose(simnet.Conditions{Partition: simnet.ToClient}, nodes)
}

// Freeze is what servers see of a host that stands still: connections stay open, and what is sent in either direction
// arrives when it is healed. The program's goroutines and timers go on, so its calls may reach their deadlines.
func (h *Host) Freeze() { h.impose(simnet.Conditions{Stall: simnet.Both}, nil) }

// Delay makes all bytes between the host and the nodes travel longer, in each direction.
func (h *Host) Delay(by time.Duration, nodes ...*Node) {
	h.impose(simnet.Conditions{Latency: by}, nodes)
}

// Cut resets the open connections between the host and the nodes. Bytes on their way are lost.
func (h *Host) Cut(nodes ...*Node) {
	for _, addr := range addrs(nodes) {
		h.c.net.Cut(h.name, addr, 1)
	}
}

// Heal ends the host's faults. [Cluster.Heal] does too, and [Node.Heal] does not.
func (h *Host) Heal() { h.lifts.lift() }

func (h *Host) impose(conditions simnet.Conditions, nodes []*Node) {
	for _, addr := range addrs(nodes) {
		h.lifts.add(h.c.net.Impose(h.name, addr, conditions))
	}
}

// addrs returns how the network calls the nodes. The empty address stands for all.
func addrs(nodes []*Node) (addrs []string) {
	for _, n := range nodes {
		addrs = append(addrs, n.Addr())
	}
	if len(nodes) == 0 {
		return []string{""}
	}
	return addrs
}

// lifts are what ends the faults of a node or a host.
type lifts struct {
	mu  sync.Mutex
	all []func()
}

func (l *lifts) add(lift func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, lift)
}

func (l *lifts) lift() {
	l.mu.Lock()
	all := l.all
	l.all = nil
	l.mu.Unlock()
	for _, lift := range all {
		lift()
	}
}
