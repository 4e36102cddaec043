package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// adopt puts a map to use that was believed when judged was in use. A node with working
// connections keeps its old address until its new one has been dialled: what the nodes
// call each other may not be known here. Meanwhile the rest of the map is in use already.
// The new address is tried again with each refresh.
func (r *refresher) adopt(ctx context.Context, judged *topology, said *slots.Map) {
	before := judged.Map
	kept := r.client.serving(slots.Renamed(before, said))
	now := said.Keeping(kept)
	told := r.client.use(judged, now)
	r.client.readmit(before, now)
	unreached := r.unreached(ctx, kept)
	r.kept = unreached
	if len(unreached) < len(kept) {
		last := said.Keeping(unreached)
		r.client.use(told, last)
		r.client.readmit(now, last)
	}
}

// serving returns those that have working connections at their old address, and none yet
// at the new one.
func (c *Client) serving(all []slots.Renaming) (up []slots.Renaming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range all {
		if c.nodes[r.From].works() && !c.nodes[r.To].works() {
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
func (r *refresher) unreached(ctx context.Context, all []slots.Renaming) (failed []slots.Renaming) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	errs := make([]error, len(all))
	var dials sync.WaitGroup
	for i, n := range all {
		dials.Go(func() { errs[i] = r.client.asker.reach(ctx, r.client.renamedPurpose(n), n.To) })
	}
	dials.Wait()
	for i, n := range all {
		if errs[i] == nil {
			continue
		}
		failed = append(failed, n)
		if r.client.ctx.Err() == nil && !slices.Contains(r.kept, n) {
			r.client.journal.Note(slog.LevelWarn, "a node's new address does not answer: requests go to its old one", "addr", n.To, "old", n.From, "error", errs[i])
		}
	}
	return failed
}

// renamedPurpose asks what any connection asks, and admits the one node.
func (c *Client) renamedPurpose(r slots.Renaming) wire.Purpose {
	purpose := c.purpose(asPrimary)
	if purpose.Admits != nil {
		purpose.Admits = func(_ string, mode, id []byte) error {
			if told := slots.NodeID(id); slots.IsAlone(mode, id) || told != "" && told != r.ID {
				return fmt.Errorf("%w: it is not the node that had the address %s", redislanes.ErrNotMember, r.From)
			}
			return nil
		}
	}
	return purpose
}
