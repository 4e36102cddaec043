package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
)

// What the steps of a fault may take.
const (
	stepTime    = 30 * time.Second
	healthyTime = 60 * time.Second
)

// inject does the fault to the node.
func (s *soak) inject(f fault, v view, node int, keys []string) error {
	ctx, cancel := context.WithTimeout(s.ctx, stepTime)
	defer cancel()
	n := s.cluster.Nodes()[node]
	switch f.kind {
	case reshard:
		return s.reshard(ctx, f, n, keys)
	case failover:
		return n.Failover(ctx, "")
	case stop:
		return s.stopNode(n, f.hold)
	case kill:
		return errors.Join(n.Kill(), s.healthy(), n.Restart(ctx))
	case shardLost:
		return s.loseShard(ctx, v, node, f.hold)
	case clientKill:
		return s.killClients(ctx, n, f.hold)
	}
	return fmt.Errorf("fault %q: no such kind", f.kind)
}

// reshard moves slots to the node, one after the other, in the ways that the servers have. With
// MIGRATE, one key of each slot moves before the others.
func (s *soak) reshard(ctx context.Context, f fault, to *servers.Node, keys []string) error {
	for i := range f.slots {
		key := keys[(f.pick+i)%len(s.tags)]
		slot := cluster.Slot(key)
		from, err := s.cluster.Owner(ctx, slot)
		switch {
		case err != nil:
			return err
		case from == to:
			continue
		case s.cluster.HasMigrateSlots() && f.pick%2 == 1:
			err = s.cluster.MigrateSlots(ctx, []uint16{slot}, to)
		default:
			err = errors.Join(s.cluster.MigrateSlotStart(ctx, slot, to), s.cluster.MigrateKeys(ctx, slot, to, key))
			s.pass(f.hold / mostSlots)
			err = errors.Join(err, s.cluster.MigrateSlotFinish(ctx, slot, to))
		}
		if err != nil {
			return fmt.Errorf("slot %d from %s to %s: %w", slot, from.Addr(), to.Addr(), err)
		}
	}
	return nil
}

func (s *soak) stopNode(n *servers.Node, hold time.Duration) error {
	if err := n.Pause(); err != nil {
		return err
	}
	s.pass(hold)
	return n.Resume()
}

// killClients closes the node's connections every few milliseconds, so that some close between
// a command and its reply.
func (s *soak) killClients(ctx context.Context, n *servers.Node, hold time.Duration) error {
	for end := time.Now().Add(hold / 4); time.Now().Before(end); s.pass(5 * time.Millisecond) {
		if err := n.Do(ctx, nil, "CLIENT", "KILL", "TYPE", "normal"); err != nil {
			return err
		}
	}
	return nil
}

// failOpen is how long after a shard is known to be lost its calls may take their whole
// time: RetryWindow, and as much for a busy machine.
const failOpen = 2 * time.Second

// loseShard kills a primary and its replicas, and starts them again without their keys. After the
// node timeout and failOpen, calls must fail at once.
func (s *soak) loseShard(ctx context.Context, v view, node int, hold time.Duration) error {
	var shard []*servers.Node // the primary last: a replica could win an election
	for i, primary := range v {
		if primary == node && i != node {
			shard = append(shard, s.cluster.Nodes()[i])
		}
	}
	shard = append(shard, s.cluster.Nodes()[node])
	for _, n := range shard {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	s.pass(nodeTimeout + failOpen)
	s.lost.Store(true)
	s.pass(hold)
	s.lost.Store(false)
	var err error
	for i := range shard {
		err = errors.Join(err, shard[len(shard)-1-i].Restart(ctx))
	}
	return err
}

// healthy waits until the cluster is healthy.
func (s *soak) healthy() error {
	ctx, cancel := context.WithTimeout(s.ctx, healthyTime)
	defer cancel()
	return s.cluster.WaitHealthy(ctx)
}

// pass lets time pass, until the run ends.
func (s *soak) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}
