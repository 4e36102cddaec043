package engine

import (
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

	mu      sync.Mutex              // guards the making of pools, and what follows; never held across I/O
	infos   [2]*redislanes.PoolInfo // of the pools that the trace was told of
	retired bool
	closed  bool
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
	info := n.tellOpened(u) // a user's function, so before the lock is taken
	p, used, closed := n.storePool(u, info)
	if closed {
		_ = p.Close() // may take seconds, so without the lock
	}
	if !used {
		n.tellClosed(info) // another caller was faster, or the node has left
	}
	return p
}

// storePool returns the pool. It makes it, with the info, unless it exists. A pool of a node that
// is closed is to be closed, too.
func (n *node) storePool(u use, info *redislanes.PoolInfo) (p *nodepool.Node, used, closed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.pools[u].Load(); p != nil {
		return p, false, false
	}
	p = n.newPool(u, info)
	if n.retired {
		p.Retire()
	}
	n.pools[u].Store(p)
	if n.closed {
		return p, false, true
	}
	n.infos[u] = info
	return p, true, false
}

func (n *node) newPool(u use, info *redislanes.PoolInfo) *nodepool.Node {
	settings := n.client.cfg.Pool.WithDefaults(!n.client.topology.Load().Single) // the size depends on whether there is a cluster
	if info != nil {
		settings.Trace, settings.Traced = n.client.cfg.Trace, info
	}
	purpose := n.client.purpose(u)
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

func (n *node) quiet() bool {
	for _, p := range n.open() {
		if !p.Quiet() {
			return false
		}
	}
	return true
}

// release takes the pool away from the node, which makes another one when it is needed
// again. Both results may be nil.
func (n *node) release(u use) (*nodepool.Node, *redislanes.PoolInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	info := n.infos[u]
	n.infos[u] = nil
	return n.pools[u].Swap(nil), info
}

// retire makes the pools refuse new batches.
func (n *node) retire() {
	n.mu.Lock()
	n.retired = true
	n.mu.Unlock()
	for _, p := range n.open() {
		p.Retire()
	}
}

func (n *node) close() {
	n.mu.Lock() // a pool that is being made is closed by its maker, or seen here
	n.closed = true
	n.mu.Unlock()
	var closing sync.WaitGroup
	for _, p := range n.open() {
		closing.Go(func() { _ = p.Close() })
	}
	closing.Wait()
}
