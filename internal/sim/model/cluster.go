package model

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options say what a cluster is made of.
type Options struct {
	Seed      uint64 // of the nodes' IDs
	Server    string // whose replies they give: "" for Redis 7.0, "redis-8.10" or "valkey-9"
	Primaries int    // 3 by default
	Replicas  int    // of each primary
	// Addr names the nodes, primaries first; 10.0.0.1:6379 and so on by default.
	Addr func(i int) string
	// Unnamed nodes do not say under which host they are: it is the one that they were
	// asked under (cluster-preferred-endpoint-type unknown-endpoint).
	Unnamed bool
	// NoCluster servers have no cluster mode, and there is one primary.
	NoCluster bool
	// Sentinels are the addresses of those that watch such servers.
	Sentinels []string
	// ID gives them their IDs, of 40 hexadecimal digits; random by default.
	ID func(i int) string
	// Epoch is added to the config epochs, which are 1 and so on.
	Epoch uint64
	// Executed is told each command with keys that a node has run, and those that
	// change all keys, in the order in which they ran. It must not call methods of
	// the cluster.
	Executed func(Execution)
	// Promoted is told of each replica that has become a primary. It must not call methods
	// of the cluster.
	Promoted func(n *Node)
}

// An Execution is one run of a command. The slices are valid in the hook only,
// but for the arguments, which may be kept.
type Execution struct {
	At      time.Time
	Node    *Node
	Conn    uint64 // CLIENT ID
	Args    [][]byte
	Reply   []byte
	Replica bool // a read from a replica
	Foreign bool // the node was no member of the cluster then
}

// A Cluster is a Redis Cluster: the truth about it. Its methods and its nodes'
// are safe for concurrent use.
type Cluster struct {
	opts    Options
	dialect *dialect

	mu        sync.Mutex // guards what follows, all nodes and sessions; never held while waiting
	rand      *rand.Rand
	nodes     []*Node
	truth     *topology
	gossip    time.Duration        // how late nodes learn of changes
	lag       time.Duration        // how late replicas apply writes
	lost      map[string]time.Time // when it was last
	tenures   map[uint16][]tenure  // that have ended, of slots whose owner has changed
	whole     map[uint16]bool      // of slots on their way: they move at once
	lastID    uint64
	sentinels []*Node
	scripts   *interpreter
}

// New makes a cluster, in which primaries share the slots evenly and node
// Primaries+i is a replica of node i modulo Primaries.
func New(opts Options) *Cluster {
	if opts.Primaries == 0 {
		opts.Primaries = 3
	}
	if opts.Addr == nil {
		opts.Addr = func(i int) string { return fmt.Sprintf("10.0.0.%d:6379", i+1) }
	}
	c := &Cluster{opts: opts, dialect: dialects[opts.Server], rand: rand.New(rand.NewPCG(opts.Seed, 1)), lost: make(map[string]time.Time), tenures: make(map[uint16][]tenure), whole: make(map[uint16]bool)}
	for i := range opts.Primaries * (1 + opts.Replicas) {
		c.nodes = append(c.nodes, c.newNode(i, opts.Addr(i)))
	}
	c.truth = firstTopology(opts.Primaries, len(c.nodes), opts.Epoch)
	for i, n := range c.nodes {
		n.view, n.shard = c.truth, c.newID()
		if p := c.truth.primary[i]; p >= 0 {
			n.source, n.shard = c.nodes[p], c.nodes[p].shard
		}
	}
	for _, addr := range opts.Sentinels {
		n := c.newNode(len(c.nodes)+len(c.sentinels), addr)
		n.view, n.sentinel = c.truth, true
		c.sentinels = append(c.sentinels, n)
	}
	return c
}

func (c *Cluster) newID() string {
	return fmt.Sprintf("%016x%016x%08x", c.rand.Uint64(), c.rand.Uint64(), c.rand.Uint32())
}

// Nodes returns all nodes, those first that were primaries at the start.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Owner returns the slot's primary, nil if it has none.
func (c *Cluster) Owner(slot uint16) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ownerLocked(slot)
}

func (c *Cluster) ownerLocked(slot uint16) *Node {
	if i := c.truth.owner[slot]; i >= 0 {
		return c.nodes[i]
	}
	return nil
}

// Primary returns whose replica the node is in truth, nil if it is a primary.
func (c *Cluster) Primary(n *Node) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.truth.primary[n.index]; p >= 0 {
		return c.nodes[p]
	}
	return nil
}

// entryOf returns the key's entry where it is in truth: at the slot's owner, or
// where its slot is on the way to.
func (c *Cluster) entryOf(key string) *entry {
	owner := c.ownerLocked(Slot([]byte(key)))
	if owner == nil || owner.own != nil {
		return nil
	}
	now := time.Now()
	owner.settle(now)
	e := owner.find([]byte(key), now.UnixMilli())
	if to := owner.migrating[Slot([]byte(key))]; e == nil && to != nil {
		e = to.find([]byte(key), now.UnixMilli())
	}
	return e
}

// Value returns the string at the key, in truth.
func (c *Cluster) Value(key string) (value string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entryOf(key); e != nil && e.kind == kindString {
		return string(e.str), true
	}
	return "", false
}

// List returns the elements of the list at the key, in truth.
func (c *Cluster) List(key string) [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entryOf(key); e != nil {
		return slices.Clone(e.list)
	}
	return nil
}

// TTL returns how long the key has; negative if it has no end or is not there,
// which is ok.
func (c *Cluster) TTL(key string) (left time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entryOf(key)
	if e == nil || e.expire == 0 {
		return -1, e != nil
	}
	return time.Until(time.UnixMilli(e.expire)), true
}

// Lost returns when writes to the key, acknowledged or not, may have been lost
// last, the zero time if never: at a failover or restart, where two nodes owned a
// slot for a while, or by a node of another cluster, which is not there for ever.
func (c *Cluster) Lost(key string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost[key]
}

// A Node is one server.
type Node struct {
	c     *Cluster
	index int
	id    string
	shard string // ID of the shard that it was made for
	addr  string
	host  string
	port  int

	keys     map[string]*entry
	watchers map[string][]*Session
	log      []effect // what replicas have not applied
	logBase  uint64   // number of its first
	source   *Node    // that it replicates; nil: a primary
	offset   uint64   // how many effects of it are applied
	inSync   bool     // the offset means something
	view     *topology
	learning []lesson
	// migrating and importing are by slot where it goes, and where it comes from.
	migrating, importing map[uint16]*Node

	sentinel bool // it is none of the servers, but watches them
	sessions []*Session
	scripts  map[string]string // by their SHA-1
	blocked  []*parked         // in the order in which they came
	ready    bool              // lists have new elements
	faults
}

func (c *Cluster) newNode(i int, addr string) *Node {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic("model: Options.Addr: " + err.Error())
	}
	n := &Node{
		c: c, index: i, addr: addr, host: host, keys: make(map[string]*entry),
		watchers: make(map[string][]*Session), migrating: make(map[uint16]*Node), importing: make(map[uint16]*Node),
		scripts: make(map[string]string),
	}
	n.standalone = c.opts.NoCluster
	if n.port, err = strconv.Atoi(port); err != nil {
		panic("model: Options.Addr: " + err.Error())
	}
	if n.id = c.newID(); c.opts.ID != nil {
		n.id = c.opts.ID(i)
	}
	n.pause.changed = make(chan struct{})
	return n
}

// redirect returns the node's address as redirects have it.
func (n *Node) redirect() string {
	if n.c.opts.Unnamed {
		return fmt.Sprintf(":%d", n.port)
	}
	return n.addr
}

// Addr returns the node's address.
func (n *Node) Addr() string { return n.addr }

// Index returns the node's position in Nodes.
func (n *Node) Index() int { return n.index }

// ID returns the node's ID, as CLUSTER MYID does.
func (n *Node) ID() string {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.id
}
