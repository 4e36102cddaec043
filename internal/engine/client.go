package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
)

// A Client is the client of package cluster. Package pipeline also uses it.
type Client struct {
	cfg   Config
	seeds []string

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	topology atomic.Pointer[topology]

	notStarted atomic.Pointer[error] // why there is no map yet; nil unless Config.Lazy is set

	stale    chan struct{} // capacity 1: something hints that the map is out of date
	counters counters
	refusals refusals
	log      *guard.Log

	exchanges sync.Pool // see Kept; each client has its own, so that a synctest bubble keeps what it has made

	refresher refresher
	tracer    tracer

	mu        sync.Mutex    // guards what follows and changes of topology; never held across I/O
	change    chan struct{} // closed with the next map
	nodes     map[string]*node
	strangers int          // nodes that redirects have named and the last map did not hold
	syncs     []chan error // callers of Sync that wait
	closed    bool
}

// turns counts the clients of this process. It begins at random.
var turns atomic.Uint32

func init() { turns.Store(rand.Uint32()) }

func newClient(cfg Config, seeds []string) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{cfg: cfg, seeds: slices.Clone(seeds), ctx: ctx, cancel: cancel,
		stale: make(chan struct{}, 1), nodes: make(map[string]*node)}
	c.refresher = refresher{client: c, failing: make(map[string]time.Time), strange: make(map[string]string)}
	c.log = guard.NewLog(cfg.Logger)
	c.tracer = newTracer(cfg.Trace, c.log)
	empty := slots.NewTable[*node](nil, nil)
	empty.Turn = turns.Add(1)
	c.topology.Store(empty)
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

// placeOf returns the address by which the node that a redirect leads to is in use; "" if it has none, or if
// AddrMap fails.
func (c *Client) placeOf(to slots.Redirect) string {
	addr := to.Addr
	if addr != "" && !to.Dialled {
		var err error
		addr, err = c.cfg.Source.Translate(addr)
		c.log.Panicked(err)
	}
	return c.topology.Load().Map.InUse(addr)
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

// use replaces the topology by a map. Nodes that are not in the map any more are drained. Connections to an
// address that leads to another server now are replaced.
func (c *Client) use(v *slots.Map) {
	working := c.working()
	c.mu.Lock()
	before := c.topology.Load()
	v = v.Named(before.Map, func(addr string) bool { return working[addr] })
	t := slots.NewTable(v, c.nodeLocked).WithLessons(before)
	t.Settle(before)
	t.Follows(before)
	c.topology.Store(t)
	c.refusals.forget(time.Now())
	close(c.change)
	c.change = make(chan struct{})
	current := t.All()
	var stale []*nodepool.Node
	c.strangers = 0
	for addr, n := range c.nodes {
		switch {
		case slices.Contains(current, n):
			if before.Map != nil && !v.Means(addr, before.Map) {
				stale = append(stale, n.open()...)
			}
			if !c.closed && !slices.Contains(t.Nodes, n) {
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
	c.mu.Unlock()
	for _, p := range stale {
		p.Replace()
	}
}

// working returns the addresses of nodes with open connections that answer.
func (c *Client) working() map[string]bool {
	working := make(map[string]bool)
	for _, n := range c.topology.Load().All() {
		if n.works() != nil {
			working[n.addr] = true
		}
	}
	return working
}

// drain closes a node once what is in flight has its replies, or after
// DrainTime. Requests that come for it with an old map go elsewhere.
func (c *Client) drain(n *node) {
	defer n.left()
	defer n.close()
	n.retire()
	c.await(n.quiet)
}

// demoteLocked gives up the pool for a primary of a node that is a replica now.
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
