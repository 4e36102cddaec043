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
	const first = 9
	return c.release.valkey && c.release.major >= first
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

// MigrateSlots is [Cluster.Reshard] by CLUSTER MIGRATESLOTS: the owner sends the
// slots with their keys to the target as to a replica, holds writes back for a
// moment, and then all of them change hands at once. So no slot is ever half on
// its way, and no client is asked to ask.
func (c *Cluster) MigrateSlots(ctx context.Context, slots []uint16, to *Node) error {
	if len(slots) == 0 {
		return nil
	}
	from, err := c.Owner(ctx, slots[0])
	if err != nil || from == to {
		return err
	}
	before, err := from.migrations(ctx)
	if err != nil {
		return err
	}
	args := []string{"MIGRATESLOTS", "SLOTSRANGE"}
	for _, slot := range slots {
		number := strconv.Itoa(int(slot))
		args = append(args, number, number)
	}
	if err := from.Do(ctx, nil, "CLUSTER", append(args, "NODE", to.id)...); err != nil {
		return err
	}
	if err := from.awaitMigration(ctx, before); err != nil {
		return fmt.Errorf("servers: CLUSTER MIGRATESLOTS from %s to %s: %w", from.Addr(), to.Addr(), err)
	}
	return c.WaitHealthy(ctx)
}

// awaitMigration waits for the end of the migration that was not there before.
func (n *Node) awaitMigration(ctx context.Context, before map[string]migration) error {
	return poll(ctx, "it is finished", func() (bool, error) {
		now, err := n.migrations(ctx)
		if err != nil {
			return false, err
		}
		for name, m := range now {
			_, old := before[name]
			switch {
			case old:
			case m["state"] == "success":
				return true, nil
			case m["state"] == "failed" || strings.HasPrefix(m["state"], "cancel"):
				return false, fmt.Errorf("%s: %s", m["state"], m["message"])
			}
		}
		return false, nil
	})
}

// A migration is what a node tells of one, such as its state.
type migration map[string]string

// migrations returns what the node tells of its migrations, by their names.
func (n *Node) migrations(ctx context.Context) (map[string]migration, error) {
	var list []migration
	if err := n.Do(ctx, &list, "CLUSTER", "GETSLOTMIGRATIONS"); err != nil {
		return nil, err
	}
	byName := make(map[string]migration, len(list))
	for _, m := range list {
		byName[m["name"]] = m
	}
	return byName, nil
}
