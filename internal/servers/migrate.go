package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Owner asks the nodes which primary owns the slot now.
func (c *Cluster) Owner(ctx context.Context, slot uint16) (*Node, error) {
	var failed error
	for _, n := range c.nodes {
		if !n.serving() {
			continue
		}
		var nodes string
		if err := n.Do(ctx, &nodes, "CLUSTER", "NODES"); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if id := ownerID(nodes, int(slot)); id != "" {
			for _, owner := range c.nodes {
				if owner.id == id {
					return owner, nil
				}
			}
		}
	}
	return nil, errors.Join(fmt.Errorf("servers: no node owns slot %d", slot), failed)
}

// ownerID finds the slot's owner in the reply to CLUSTER NODES.
func ownerID(nodes string, slot int) string {
	for line := range strings.Lines(nodes) {
		fields := strings.Fields(line)
		const firstSlot = 8
		for _, field := range fields[min(firstSlot, len(fields)):] {
			first, last, isRange := strings.Cut(field, "-")
			from, err := strconv.Atoi(first)
			if err != nil {
				continue // a slot on its way
			}
			to := from
			if isRange {
				to, _ = strconv.Atoi(last)
			}
			if from <= slot && slot <= to {
				return fields[0]
			}
		}
	}
	return ""
}

// MigrateSlotStart sets the slot to IMPORTING at the target and MIGRATING at
// its owner: from then on the owner replies ASK for keys that it does not have.
func (c *Cluster) MigrateSlotStart(ctx context.Context, slot uint16, to *Node) error {
	from, err := c.Owner(ctx, slot)
	if err != nil {
		return err
	}
	number := strconv.Itoa(int(slot))
	if err := to.Do(ctx, nil, "CLUSTER", "SETSLOT", number, "IMPORTING", from.id); err != nil {
		return err
	}
	return from.Do(ctx, nil, "CLUSTER", "SETSLOT", number, "MIGRATING", to.id)
}

// MigrateKeys moves keys of a slot that is being migrated.
func (c *Cluster) MigrateKeys(ctx context.Context, slot uint16, to *Node, keys ...string) error {
	from, err := c.Owner(ctx, slot)
	if err != nil {
		return err
	}
	return c.migrate(ctx, from, to, keys)
}

func (c *Cluster) migrate(ctx context.Context, from, to *Node, keys []string) error {
	const timeout = "10000" // milliseconds
	args := []string{"127.0.0.1", strconv.Itoa(to.Port()), "", "0", timeout}
	if p := c.options.Password; p != "" {
		args = append(args, "AUTH", p)
	}
	return from.Do(ctx, nil, "MIGRATE", append(append(args, "KEYS"), keys...)...)
}

// moveKeys moves all keys of a slot that is being migrated.
func (c *Cluster) moveKeys(ctx context.Context, slot uint16, from, to *Node) error {
	for {
		var keys []string
		if err := from.Do(ctx, &keys, "CLUSTER", "GETKEYSINSLOT", strconv.Itoa(int(slot)), "100"); err != nil {
			return err
		}
		if len(keys) == 0 {
			return nil
		}
		if err := c.migrate(ctx, from, to, keys); err != nil {
			return err
		}
	}
}

// MigrateSlotFinish moves the keys that are left, tells all primaries of the
// slot's new owner, and returns when all nodes agree.
func (c *Cluster) MigrateSlotFinish(ctx context.Context, slot uint16, to *Node) error {
	from, err := c.Owner(ctx, slot)
	if err != nil {
		return err
	}
	number := strconv.Itoa(int(slot))
	if err := c.moveKeys(ctx, slot, from, to); err != nil {
		return err
	}
	// The target first: until the source knows, it redirects to it.
	for _, n := range append([]*Node{to, from}, c.nodes...) {
		if primary, err := n.IsPrimary(ctx); err != nil || !primary {
			continue
		}
		if err := n.Do(ctx, nil, "CLUSTER", "SETSLOT", number, "NODE", to.id); err != nil {
			return err
		}
	}
	return c.WaitHealthy(ctx)
}
