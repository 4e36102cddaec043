package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
)

// A node is one server of the cluster. Its pools are made when they are first
// needed: most clients never read from replicas.
type node struct {
	addr   string
	client *Client

	named time.Time // when a redirect did it last; guarded by the client's mu

	pools [2]atomic.Pointer[nodepool.Node] // by use; nil until it is needed

	mu      sync.Mutex // guards the making of pools, and what follows; never held across I/O
	hasLeft bool       // the cluster, or the client is closed
}

// A topology is the map in use, with the nodes that commands are sent to.
type topology = slots.Table[*node]

// A move is what a MOVED said.
type move = slots.Move[*node]

// use says what a connection to a node is for.
type use int

const (
	asPrimary use = iota
	asReplica     // connections send READONLY
)

// String returns the role that Stats and metrics show.
func (u use) String() string { return [...]string{asPrimary: "primary", asReplica: "replica"}[u] }

func (n *node) pool(u use) *nodepool.Node {
	if p := n.pools[u].Load(); p != nil {
		return p
	}
	return n.makePool(u)
}

func (n *node) makePool(u use) *nodepool.Node {
	info := n.client.tellPool(&redislanes.PoolInfo{Addr: n.addr, Role: u.String()}, true) // a user's function, so before the lock is taken
	n.mu.Lock()
	p := n.pools[u].Load()
	made := p == nil
	left := made && n.hasLeft
	switch {
	case left:
		p = n.newPool(u, info)
	case made:
		p = n.newPool(u, info)
		n.pools[u].Store(p)
	}
	n.mu.Unlock()
	if left {
		if n.client.ctx.Err() == nil {
			p.Retire()
		}
		_ = p.Close() // may take seconds, so without the lock
	}
	if left || !made { // another caller was faster
		n.client.tellPool(info, false)
	}
	return p
}

func (n *node) newPool(u use, info *redislanes.PoolInfo) *nodepool.Node {
	settings := n.client.cfg.Pool.WithDefaults(!n.client.topology.Load().Single) // the size depends on whether there is a cluster
	if info != nil {
		settings.Trace, settings.Traced = n.client.cfg.Trace, info
	}
	purpose := n.client.nodes.purpose(u)
	// New has validated the settings; they are the only source of errors.
	p, err := nodepool.NewFor(settings, n.client.cfg.Dialer, purpose, n.addr, n.client.cfg.Logger)
	if err != nil {
		panic("cluster: settings that New accepted are refused: " + err.Error())
	}
	return p
}

// open returns the pools that exist.
func (n *node) open() []*nodepool.Node {
	var open []*nodepool.Node
	for u := range n.pools {
		if p := n.pools[u].Load(); p != nil {
			open = append(open, p)
		}
	}
	return open
}

// Addr is part of slots.Node.
func (n *node) Addr() string { return n.addr }

// Answers tells whether the node is neither down nor suspect, as far as its pool for a primary
// or for a replica knows; part of slots.Node.
func (n *node) Answers(primary bool) bool {
	u := asReplica
	if primary {
		u = asPrimary
	}
	p := n.pools[u].Load()
	return p == nil || p.Down() == nil
}

// ReplyTime is the best reply time of the node as a replica, 0 if it is unknown; part of slots.Node.
func (n *node) ReplyTime() time.Duration {
	if p := n.pools[asReplica].Load(); p != nil {
		return p.ReplyTime()
	}
	return 0
}

// works returns a pool of the node that has connections and answers; nil if there is none.
func (n *node) works() *nodepool.Node {
	for _, p := range n.open() {
		if p.Down() == nil && p.Connected() {
			return p
		}
	}
	return nil
}

// silent reports whether the node is down or suspect.
func (n *node) silent() bool {
	return slices.ContainsFunc(n.open(), func(p *nodepool.Node) bool { return p.Down() != nil })
}

// leave returns the pools, which the node is about to lose. It makes no others.
func (n *node) leave() []*nodepool.Node {
	n.mu.Lock() // a pool that is being made is closed by its maker, or seen here
	defer n.mu.Unlock()
	n.hasLeft = true
	return n.open()
}
