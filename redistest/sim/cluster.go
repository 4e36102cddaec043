package sim

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/sim/model"
	"github.com/redislanes/redislanes/internal/sim/peek"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

func init() {
	peek.Into = func(cluster any) (*model.Cluster, *simnet.Network) {
		c := cluster.(*Cluster)
		return c.model, c.net
	}
}

// A Cluster is a Redis Cluster with a network before it. [Start] and [Launch] make it.
// All methods are safe for concurrent use.
type Cluster struct {
	config Config
	began  time.Time
	model  *model.Cluster
	net    *simnet.Network
	nodes  []*Node

	troubles atomic.Uint64 // calls of Trouble

	doors   []net.Listener // of TCP
	serving context.Context
	stop    context.CancelFunc // ends serving: dials of those that came by TCP
	tasks   sync.WaitGroup     // of the doors

	mu    sync.Mutex // guards what follows
	hosts map[string]*Host
	made  []made
}

// A made is a fault of Trouble or Replay, and when it was made.
type made struct {
	at time.Time
	Fault
}

// Close resets all connections and refuses new ones.
func (c *Cluster) Close() {
	c.stop()
	closeAll(c.doors)
	c.net.Close()
	c.tasks.Wait()
}

// Dial connects to an address of the cluster, as [net.Dialer.DialContext] does. The name of
// the network is ignored. The connection comes from the [Host] "client".
func (c *Cluster) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.net.Dialer(us)(ctx, network, addr)
}

// us is the host of programs that name none.
const us = "client"

// Addrs returns the addresses of all nodes, those first that were primaries at the start.
func (c *Cluster) Addrs() (addrs []string) {
	for _, n := range c.nodes {
		addrs = append(addrs, n.Addr())
	}
	return addrs
}

// SentinelAddrs returns the addresses of the Sentinels.
func (c *Cluster) SentinelAddrs() (addrs []string) {
	for _, s := range c.model.Sentinels() {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Nodes returns all nodes, those first that were primaries at the start.
func (c *Cluster) Nodes() []*Node { return append([]*Node(nil), c.nodes...) }

// Owner returns the primary that has the key's slot.
func (c *Cluster) Owner(key string) *Node { return c.of(c.model.Owner(model.Slot([]byte(key)))) }

func (c *Cluster) of(n *model.Node) *Node {
	if n == nil {
		return nil
	}
	return c.nodes[n.Index()]
}

// Value returns the string at the key, without a connection; false if there is none.
func (c *Cluster) Value(key string) (value string, ok bool) { return c.model.Value(key) }

// TTL returns the key's time to live, without a connection. It is negative if the key
// has none; ok is false if there is no such key.
func (c *Cluster) TTL(key string) (left time.Duration, ok bool) { return c.model.TTL(key) }

// LostWrites reports whether the cluster itself may have lost acknowledged writes to the
// key, as Redis does when a primary fails before its replica has applied them. No client can
// prevent that: a test excuses such keys.
func (c *Cluster) LostWrites(key string) bool { return !c.model.Lost(key).IsZero() }

// Move moves the key's slot, with all of its keys, to another primary. The two nodes know
// at once, and the others after the gossip lag. Other servers than Redis 7.0 hold up writes for 3 ms before. Nothing happens if the node has the slot
// already or is a replica, if one of the two is frozen or isolated, if the slot is being moved, or
// if the node does not know the slot's owner yet. After a failover or another move, first wait for
// the gossip lag.
func (c *Cluster) Move(key string, to *Node) { c.StartMove(key, to)() }

// StartMove begins to move the key's slot, with no key yet, and returns what ends it. In
// between the owner redirects with ASK for keys that it does not have; other servers than Redis 7.0 serve all keys until the end. If one of the two is
// frozen or isolated then, the slot arrives with [Cluster.Heal]. A failover of one of the two ends
// the move. Where Move does nothing, StartMove does nothing either.
func (c *Cluster) StartMove(key string, to *Node) (finish func()) {
	_, finish = c.model.Move([]uint16{model.Slot([]byte(key))}, to.model)
	return finish
}

// Heal ends all faults: nodes run, the network is as Config has it, slots that were on their
// way have arrived, and all nodes know of all changes after the gossip lag.
func (c *Cluster) Heal() {
	for _, n := range c.nodes {
		n.Heal()
	}
	c.mu.Lock()
	for _, h := range c.hosts {
		h.Heal()
	}
	c.mu.Unlock()
	for _, slot := range c.model.Migrating() {
		c.model.FinishMigration(slot)
	}
}
