package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Client is the client of package cluster. Package pipeline also uses it.
type Client struct {
	cfg   Config
	seeds []string

	asker asker

	slowLanes bool // the pools have lanes for slow commands

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	topology atomic.Pointer[topology]

	notStarted atomic.Pointer[error] // why there is no map yet; nil unless Config.Lazy is set

	stale    chan struct{} // capacity 1: something hints that the map is out of date
	counters counters
	refusals attempt.Refusals
	log      *guard.Log

	exchanges sync.Pool // see Kept; each client has its own, so that a synctest bubble keeps what it has made

	refresher refresher
	traced    bool                 // requests are, or their groups
	now       func() time.Duration // what the times of a Trace are taken from

	mu        sync.Mutex    // guards what follows and changes of topology; never held across I/O
	change    chan struct{} // closed with the next map
	nodes     map[string]*node
	strangers int          // nodes that redirects have named and the last map did not hold
	syncs     []chan error // callers of Sync that wait
	closed    bool
}

func newClient(cfg Config, seeds []string) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{cfg: cfg, seeds: slices.Clone(seeds), ctx: ctx, cancel: cancel,
		slowLanes: cfg.Pool.HasSlowLanes(), stale: make(chan struct{}, 1), nodes: make(map[string]*node), traced: tracesRequests(cfg.Trace), now: wire.Now}
	c.asker = asker{cfg: cfg}
	c.refresher = refresher{client: c, strange: make(map[string]slots.Flaw), skipped: make(map[slots.Skip]bool)}
	c.log = guard.NewLog(cfg.Logger)
	c.topology.Store(slots.NewTable[*node](nil, nil))
	c.change = make(chan struct{})
	return c
}

// Seed returns the first of the addresses that the client was made with.
func (c *Client) Seed() string {
	_ = c.current()
	return c.seeds[0]
}

// Primary returns the address of the node that owns the slot, as far as the
// client knows; "" if none does.
func (c *Client) Primary(slot uint16) string {
	if slot >= slots.Count {
		return ""
	}
	if n := c.current().Primary(int32(slot)); n != nil {
		return n.addr
	}
	return ""
}

// Owners returns a number that changes whenever a slot gets another owner, as far as the
// client knows.
func (c *Client) Owners() uint64 { return c.current().Version }

// Kept returns the pool in which package cluster keeps the memory of exchanges.
func (c *Client) Kept() *sync.Pool { return &c.exchanges }

// dialAddr returns the address that a redirect leads to, as it is dialled; "" if it names
// none, or if AddrMap fails.
func (c *Client) dialAddr(to slots.Redirect) string {
	if to.Addr == "" || to.Dialled || c.cfg.AddrMap == nil {
		return to.Addr
	}
	addr, _, err := c.asker.mapped(to.Addr)
	c.log.Panicked(err)
	return addr
}

// node returns the node at the address, which a redirect named, making it if it is new;
// nil if there are too many already that no map of the slots holds.
func (c *Client) node(addr string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[addr] == nil {
		if c.strangers >= maxStrangers {
			return nil
		}
		c.strangers++
	}
	n := c.nodeLocked(addr)
	n.named = time.Now()
	return n
}

func (c *Client) nodeLocked(addr string) *node {
	n, ok := c.nodes[addr]
	if !ok {
		n = &node{addr: addr, client: c, closed: c.closed}
		c.nodes[addr] = n
	}
	return n
}

// learn notes what the MOVED replies of one attempt said, all at once: the table of the
// slots is copied for each call.
func (c *Client) learn(moves []move) {
	if len(moves) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.topology.Store(c.topology.Load().WithOwners(moves))
}

// leaveHome sends commands without a key to another node, if they go to the node at the address,
// which is down. If all nodes are down, nothing changes: each change copies the table.
func (c *Client) leaveHome(addr string) {
	t := c.topology.Load()
	if n := t.Primary(slots.NoKey); n == nil || n.addr != addr {
		return
	}
	next := t.WithoutHome()
	if next == t {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.topology.Load() == t { // else the next command that fails may try again
		c.topology.Store(next)
	}
}

// use replaces the topology by a map that was believed when judged was in use. It keeps what
// MOVED has taught since then. With Config.Standalone, no server is asked for a map, and it
// keeps all that MOVED has taught of nodes that answer. Nodes that are not in the map any more
// are drained.
func (c *Client) use(judged *topology, v *slots.Map) {
	var forget map[string]int
	if c.cfg.Standalone {
		forget = c.silentNodes()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for addr := range forget { // MOVED may name it again
		if n := c.nodes[addr]; n != nil {
			n.named = time.Now()
		}
	}
	t := slots.NewTable(v, c.nodeLocked)
	if c.cfg.Standalone { // MOVED is all that there is to know
		judged = t
	}
	moves := c.topology.Load().MovesSince(judged)
	moves = slices.DeleteFunc(moves, func(m move) bool { return forget[m.To.addr] != 0 })
	t = t.WithOwners(moves)
	t.Settle(c.topology.Load())
	t.Follows(c.topology.Load())
	c.topology.Store(t)
	c.refusals.Forget(time.Now())
	close(c.change)
	c.change = make(chan struct{})
	current := t.All()
	c.strangers = 0
	for addr, n := range c.nodes {
		switch {
		case slices.Contains(current, n):
			if c.cfg.Sentinel != nil && !c.closed && !slices.Contains(t.Nodes, n) {
				c.demoteLocked(n)
			}
		case time.Since(n.named) < strangerTime:
			c.strangers++
		default:
			delete(c.nodes, addr)
			if !c.closed {
				c.tasks.Go(func() { c.drain(n) })
			}
		}
	}
}

// drain closes a node once what is in flight has its replies, or after
// DrainTime. Requests that come for it with an old map go elsewhere.
func (c *Client) drain(n *node) {
	defer n.left()
	defer n.close()
	n.retire()
	c.await(n.quiet)
}

// demoteLocked gives up the pool of a node that a Sentinel does not name as the primary any
// more. While the node is a replica, each dial of that pool is refused and asks for a refresh.
func (c *Client) demoteLocked(n *node) {
	p, info := n.release(asPrimary)
	if p == nil {
		return
	}
	c.tasks.Go(func() {
		defer n.tellClosed(info)
		defer p.Close()
		p.Retire()
		c.await(p.Quiet)
	})
}

// await returns when it is quiet, after DrainTime, or when the client is closed.
func (c *Client) await(quiet func() bool) {
	limit := time.NewTimer(DrainTime)
	defer limit.Stop()
	check := time.NewTicker(drainCheck)
	defer check.Stop()
	for !quiet() {
		select {
		case <-check.C:
		case <-limit.C:
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// Close closes all connections. Commands in flight end with an error that wraps ErrClosed. It
// returns when no goroutine of the client is left. Closing again does nothing.
func (c *Client) Close() error {
	if c == nil || c.ctx == nil {
		return errNotMade
	}
	c.mu.Lock()
	c.closed = true
	c.cancel()
	nodes := make([]*node, 0, len(c.nodes))
	for _, n := range c.nodes {
		nodes = append(nodes, n)
	}
	c.mu.Unlock()
	var closing sync.WaitGroup // at a time: each may wait for a function of the user
	for _, n := range nodes {
		closing.Go(n.close)
	}
	closing.Wait()
	c.tasks.Wait()
	return nil
}
