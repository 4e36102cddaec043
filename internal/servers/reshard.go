package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/mediocregopher/radix/v4"
)

// reshardBatch is how many slots are on their way at a time.
const reshardBatch = 100

// Reshard moves the slots with their keys to the node, many at a time, as
// redis-cli --cluster reshard does one by one. All of them must have the same
// owner. It must not meet a failover. It returns when all nodes agree: a node
// that takes a slot gives itself the next config epoch without a vote, and two
// that do so before they have heard of each other take the same one, of which
// the cluster keeps either.
func (c *Cluster) Reshard(ctx context.Context, slots []uint16, to *Node) error {
	if len(slots) == 0 {
		return nil
	}
	from, err := c.Owner(ctx, slots[0])
	if err != nil || from == to {
		return err
	}
	var others []*Node
	for _, n := range c.nodes {
		primary, err := n.IsPrimary(ctx)
		if err == nil && primary && n != from && n != to {
			others = append(others, n)
		}
	}
	for len(slots) > 0 {
		n := min(len(slots), reshardBatch)
		if err := c.reshard(ctx, slots[:n], from, to, others); err != nil {
			return err
		}
		slots = slots[n:]
	}
	return c.WaitHealthy(ctx)
}

func (c *Cluster) reshard(ctx context.Context, slots []uint16, from, to *Node, others []*Node) error {
	if err := to.setSlots(ctx, slots, "IMPORTING", from.id); err != nil {
		return err
	}
	if err := from.setSlots(ctx, slots, "MIGRATING", to.id); err != nil {
		return err
	}
	filled, err := from.filled(ctx, slots)
	if err != nil {
		return err
	}
	for _, slot := range filled {
		if err := c.moveKeys(ctx, slot, from, to); err != nil {
			return err
		}
	}
	// The target first: until the source knows, it redirects to it.
	for _, n := range append([]*Node{to, from}, others...) {
		if err := n.setSlots(ctx, slots, "NODE", to.id); err != nil {
			return err
		}
	}
	return nil
}

// setSlots performs CLUSTER SETSLOT for all slots, in pipelines beside each other:
// Valkey answers it when the replicas have it, too, and does nothing else for its
// connection meanwhile.
func (n *Node) setSlots(ctx context.Context, slots []uint16, state, id string) error {
	const perPipeline = 5
	var pipelines sync.WaitGroup
	errs := make([]error, (len(slots)+perPipeline-1)/perPipeline)
	for i := range errs {
		p := radix.NewPipeline()
		for _, slot := range slots[i*perPipeline : min((i+1)*perPipeline, len(slots))] {
			p.Append(radix.Cmd(nil, "CLUSTER", "SETSLOT", strconv.Itoa(int(slot)), state, id))
		}
		pipelines.Go(func() { errs[i] = n.pipeline(ctx, "CLUSTER SETSLOT "+state, p) })
	}
	pipelines.Wait()
	return errors.Join(errs...)
}

// filled returns those of the slots that hold keys here. Where slots are
// MIGRATING, keys only become fewer.
func (n *Node) filled(ctx context.Context, slots []uint16) ([]uint16, error) {
	keys := make([]int, len(slots))
	p := radix.NewPipeline()
	for i, slot := range slots {
		p.Append(radix.Cmd(&keys[i], "CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(int(slot))))
	}
	if err := n.pipeline(ctx, "CLUSTER COUNTKEYSINSLOT", p); err != nil {
		return nil, err
	}
	var filled []uint16
	for i, slot := range slots {
		if keys[i] > 0 {
			filled = append(filled, slot)
		}
	}
	return filled, nil
}

// pipeline performs commands over a connection of its own.
func (n *Node) pipeline(ctx context.Context, what string, p *radix.Pipeline) error {
	conn, err := n.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Do(ctx, p); err != nil {
		return fmt.Errorf("servers: %s: %s: %w", n.Addr(), what, err)
	}
	return nil
}
