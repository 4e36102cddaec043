package engine

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// nodes are the servers that a client knows, and the map that says which of them has which slots.
type nodes struct {
	client   *Client
	topology atomic.Pointer[topology]

	mu        sync.Mutex    // guards what follows and changes of topology; never held across I/O
	change    chan struct{} // closed with the next map
	at        map[string]*node
	strangers int // nodes that redirects have named and the last map did not hold
	closed    bool
}

// known returns the node at the address, nil if there is none.
func (all *nodes) known(addr string) *node {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.at[addr]
}

// list returns all nodes.
func (all *nodes) list() []*node {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Values(all.at))
}

// placeOf returns the address by which the node that a redirect leads to is in use; "" if it has none, or if
// AddrMap fails.
func (all *nodes) placeOf(to slots.Redirect) string {
	addr := to.Addr
	if addr != "" && !to.Dialled {
		var err error
		addr, err = all.client.cfg.Source.Translate(addr)
		all.client.log.Panicked(err)
	}
	return all.topology.Load().Map.InUse(addr)
}

// named returns the node at the address, which a redirect named, making it if it is new;
// nil if there are too many already that no map of the slots holds.
func (all *nodes) named(addr string) *node {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.at[addr] == nil {
		if all.strangers >= maxStrangers {
			return nil
		}
		all.strangers++
	}
	n := all.nodeLocked(addr)
	n.named = time.Now()
	return n
}

func (all *nodes) nodeLocked(addr string) *node {
	n, ok := all.at[addr]
	if !ok {
		n = &node{addr: addr, client: all.client, hasLeft: all.closed}
		all.at[addr] = n
	}
	return n
}

// learn notes what the MOVED replies of one attempt said, all at once: the table of the
// slots is copied for each call.
func (all *nodes) learn(moves []move) {
	if len(moves) == 0 {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.topology.Store(all.topology.Load().WithOwners(moves))
}

// use replaces the topology by a map. Nodes that are not in the map any more are drained. Connections to an
// address that leads to another server now are replaced.
func (all *nodes) use(v *slots.Map) {
	working := all.working()
	all.mu.Lock()
	if all.closed {
		all.mu.Unlock()
		return
	}
	before := all.topology.Load()
	v = v.Named(before.Map, func(addr string) bool { return working[addr] })
	t := slots.NewTable(v, all.nodeLocked).Behind(before)
	all.topology.Store(t)
	all.client.refusals.forget(time.Now())
	close(all.change)
	all.change = make(chan struct{})
	current := t.All()
	var stale []*nodepool.Node
	all.strangers = 0
	for addr, n := range all.at {
		switch {
		case slices.Contains(current, n):
			if before.Map != nil && !v.Means(addr, before.Map) {
				stale = append(stale, n.open()...)
			}
			if p := n.pools[asPrimary].Load(); p != nil && !slices.Contains(t.Nodes, n) { // it is a replica now
				n.pools[asPrimary].Store(nil)
				all.drainLocked(p)
			}
		case time.Since(n.named) < strangerTime:
			all.strangers++
		default:
			delete(all.at, addr)
			for _, p := range n.leave() {
				all.drainLocked(p)
			}
		}
	}
	all.mu.Unlock()
	for _, p := range stale {
		p.Replace()
	}
}

// working returns the addresses of nodes with open connections that answer.
func (all *nodes) working() map[string]bool {
	working := make(map[string]bool)
	for _, n := range all.topology.Load().All() {
		if n.works() != nil {
			working[n.addr] = true
		}
	}
	return working
}

// drainLocked closes a pool once what is in flight has its replies, after DrainTime, or when the client is
// closed. Requests that come for it with an old map go elsewhere.
func (all *nodes) drainLocked(p *nodepool.Node) {
	c := all.client
	c.tasks.Go(func() {
		defer c.tellPool(p.Info(), false)
		defer p.Close()
		p.Retire()
		limit := time.NewTimer(DrainTime)
		defer limit.Stop()
		check := time.NewTicker(drainCheck)
		defer check.Stop()
		for !p.Quiet() {
			select {
			case <-check.C:
			case <-limit.C:
				return
			case <-c.ctx.Done():
				return
			}
		}
	})
}

// purpose returns what the handshake with a node asks. A server that is not admitted asks for a refresh.
func (all *nodes) purpose(u use) wire.Purpose {
	purpose := all.client.cfg.Source.Purpose(u == asReplica, func(addr string, id []byte) error { return all.admit(u, addr, id) })
	if admits := purpose.Admits; admits != nil {
		purpose.Admits = func(addr string, reply []byte) error {
			err := admits(addr, reply)
			if err != nil {
				all.client.refresher.hint()
			}
			return err
		}
	}
	return purpose
}

// admit decides whether the server at the address may be sent commands, by its reply to CLUSTER MYID, for
// each new connection. A dial that succeeds says nothing of what answers, and a node that was restarted
// without cluster mode is still in the other nodes' maps. What an ACL forbids a server to tell is not held
// against it. One that is loading its data does not come here: its refusal has ended the handshake.
func (all *nodes) admit(u use, addr string, id []byte) error {
	t := all.topology.Load()
	switch {
	case t.Map == nil || t.Single:
		return nil
	case slots.ClusterDisabled(id):
		return fmt.Errorf("%w: cluster support is disabled there", redislanes.ErrWrongServer)
	}
	return t.Map.Admits(u == asPrimary, addr, slots.NodeID(id))
}
