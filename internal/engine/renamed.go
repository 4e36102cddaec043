package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/wire"
)

// reachTime is how long the new address of a node may take to answer.
const reachTime = time.Second

// A renaming is a node that the map in use has at another address.
type renaming struct {
	id, from, to string
}

// renamed returns the nodes that said has at another address than use. A node is left out
// if its old address is another one's now, or if it has several.
func renamed(use, said *view) (all []renaming) {
	if use == nil {
		return nil
	}
	before, now := use.addrs(), said.addrs()
	for id, to := range now {
		if from := before[id]; from != "" && to != "" && from != to && len(said.at[from].all) == 0 {
			all = append(all, renaming{id, from, to})
		}
	}
	return all
}

// addrs returns the address of each node, "" for one that has several.
func (v *view) addrs() map[string]string {
	of := make(map[string]string)
	for _, r := range v.ranges {
		for _, n := range r.nodes {
			if is, ok := of[n.id]; ok && is != n.addr || n.id == "" {
				of[n.id] = ""
				continue
			}
			of[n.id] = n.addr
		}
	}
	return of
}

// keeping returns the view with the old addresses of nodes.
func (v *view) keeping(all []renaming) *view {
	if len(all) == 0 {
		return v
	}
	old := make(map[string]string, len(all))
	for _, r := range all {
		old[r.id] = r.from
	}
	w := *v
	w.ranges, w.claims = make([]slotRange, len(v.ranges)), make([]claim, len(v.claims))
	for i, r := range v.ranges {
		w.ranges[i] = slotRange{first: r.first, last: r.last, nodes: make([]nodeAddr, len(r.nodes))}
		for k, n := range r.nodes {
			if addr, ok := old[n.id]; ok {
				n.addr = addr
			}
			w.ranges[i].nodes[k] = n
		}
	}
	for i, c := range v.claims {
		if addr, ok := old[c.id]; ok {
			c.addr = addr
		}
		w.claims[i] = c
	}
	w.at = placesOf(w.ranges)
	return &w
}

// adopt puts a map to use that was believed when judged was in use. A node with working
// connections keeps its old address until its new one has been dialled: what the nodes
// call each other may not be known here. Meanwhile the rest of the map is in use already.
// The new address is tried again with each refresh.
func (c *Client) adopt(ctx context.Context, judged *topology, said *view) {
	before := judged.view
	kept := c.serving(renamed(before, said))
	now := said.keeping(kept)
	told := c.use(judged, now)
	c.readmit(before, now)
	unreached := c.unreached(ctx, kept)
	c.kept = unreached
	if len(unreached) < len(kept) {
		last := said.keeping(unreached)
		c.use(told, last)
		c.readmit(now, last)
	}
}

// serving returns those that have working connections at their old address, and none yet
// at the new one.
func (c *Client) serving(all []renaming) (up []renaming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range all {
		if c.nodes[r.from].works() && !c.nodes[r.to].works() {
			up = append(up, r)
		}
	}
	return up
}

// works tells whether the node has connections and answers. There may be no node.
func (n *node) works() bool {
	if n == nil {
		return false
	}
	for _, p := range n.open() {
		if p.Down() == nil && p.Connected() {
			return true
		}
	}
	return false
}

// unreached dials the new addresses, all at the same time, and returns those at which the
// node does not answer. The log is told of each once.
func (c *Client) unreached(ctx context.Context, all []renaming) (failed []renaming) {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	errs := make([]error, len(all))
	var dials sync.WaitGroup
	for i, r := range all {
		dials.Go(func() { errs[i] = c.reach(ctx, r) })
	}
	dials.Wait()
	for i, r := range all {
		if errs[i] == nil {
			continue
		}
		failed = append(failed, r)
		if c.ctx.Err() == nil && !slices.Contains(c.kept, r) {
			c.journal.Note(slog.LevelWarn, "a node's new address does not answer: requests go to its old one", "addr", r.to, "old", r.from, "error", errs[i])
		}
	}
	return failed
}

// reach dials the new address and makes sure that the node answers there.
func (c *Client) reach(ctx context.Context, r renaming) error {
	purpose := wire.Purpose{Member: func(_ string, mode, id []byte) error {
		if told := idOf(id); isDisabled(mode) || isDisabled(id) || told != "" && told != r.id {
			return fmt.Errorf("%w: it is not the node that had the address %s", redislanes.ErrNotMember, r.from)
		}
		return nil
	}}
	lane, err := wire.DialFor(ctx, c.cfg.Dialer, purpose, r.to, nil)
	if err != nil {
		return err
	}
	c.hangUp(lane)
	return nil
}
