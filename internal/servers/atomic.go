package servers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// HasMigrateSlots reports whether the servers move slots by themselves; see
// [Cluster.MigrateSlots].
func (c *Cluster) HasMigrateSlots() bool {
	if r := c.release; !r.valkey {
		return r.major > 8 || r.major == 8 && r.minor >= 4
	}
	return c.release.major >= 9
}

// ReshardWays returns the ways that the servers have of moving slots with their
// keys: Reshard, and MigrateSlots where it can be had.
func (c *Cluster) ReshardWays() []func(ctx context.Context, slots []uint16, to *Node) error {
	ways := []func(context.Context, []uint16, *Node) error{c.Reshard}
	if c.HasMigrateSlots() {
		ways = append(ways, c.MigrateSlots)
	}
	return ways
}

// MigrateSlots is [Cluster.Reshard] by CLUSTER MIGRATESLOTS of Valkey, or CLUSTER MIGRATION of Redis: the owner
// sends the slots with their keys to the target as to a replica, holds writes back for a moment, and then all
// of them change hands at once. So no slot is ever half on its way, and no client is asked to ask.
func (c *Cluster) MigrateSlots(ctx context.Context, slots []uint16, to *Node) error {
	if len(slots) == 0 {
		return nil
	}
	from, err := c.Owner(ctx, slots[0])
	if err != nil || from == to {
		return err
	}
	leads, args, end, list := to, []string{"MIGRATION", "IMPORT"}, []string(nil), []string{"MIGRATION", "STATUS", "ALL"}
	if c.release.valkey {
		leads, args, end, list = from, []string{"MIGRATESLOTS", "SLOTSRANGE"}, []string{"NODE", to.id}, []string{"GETSLOTMIGRATIONS"}
	}
	before, err := leads.migrations(ctx, list)
	if err != nil {
		return err
	}
	for _, slot := range slots {
		number := strconv.Itoa(int(slot))
		args = append(args, number, number)
	}
	if err := leads.Do(ctx, nil, "CLUSTER", append(args, end...)...); err != nil {
		return err
	}
	if err := leads.awaitMigration(ctx, list, before); err != nil {
		return fmt.Errorf("servers: CLUSTER %s from %s to %s: %w", args[0], from.Addr(), to.Addr(), err)
	}
	return c.WaitHealthy(ctx)
}

// awaitMigration waits for the end of the migration that was not there before.
func (n *Node) awaitMigration(ctx context.Context, list []string, before map[string]migration) error {
	return poll(ctx, "it is finished", func() (bool, error) {
		now, err := n.migrations(ctx, list)
		if err != nil {
			return false, err
		}
		for name, m := range now {
			_, old := before[name]
			switch state := m["state"]; {
			case old:
			case state == "success" || state == "completed":
				return true, nil
			case state == "failed" || strings.HasPrefix(state, "cancel"):
				return false, fmt.Errorf("%s: %s", state, m["message"]+m["last_error"])
			}
		}
		return false, nil
	})
}

// A migration is what a node tells of one, such as its state.
type migration map[string]string

// migrations returns what the node tells of its migrations, by their names.
func (n *Node) migrations(ctx context.Context, list []string) (map[string]migration, error) {
	var all []migration
	if err := n.Do(ctx, &all, "CLUSTER", list...); err != nil {
		return nil, err
	}
	byName := make(map[string]migration, len(all))
	for _, m := range all {
		byName[m["name"]+m["id"]] = m
	}
	return byName, nil
}
