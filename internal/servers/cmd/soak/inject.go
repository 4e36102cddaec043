package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
)

// What the steps of a fault may take. Ctrl-C does not end them: a node that was
// stopped or killed must come back, or nothing can be checked.
const (
	stepTime    = 30 * time.Second
	healthyTime = 60 * time.Second
)

// inject does the fault to the node. The context ends only the times for which
// something is held.
func (s *soak) inject(ctx context.Context, f fault, v view, node int, keys []string) error {
	steps, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTime)
	defer cancel()
	n := s.cluster.Nodes()[node]
	switch f.kind {
	case reshard:
		return s.reshard(ctx, steps, f, v, keys)
	case failover:
		return n.Failover(steps, "")
	case force:
		return n.Failover(steps, "FORCE")
	case takeover:
		return n.Failover(steps, "TAKEOVER")
	case stop:
		return stopNode(ctx, n, f.hold)
	case kill:
		return s.killNode(n)
	case throttle:
		return s.throttle(ctx, steps, n, f.hold)
	case hangUp:
		return s.hangUp(ctx, n, f.hold)
	case standalone:
		return s.standalone(ctx, n, f.hold)
	case shardLost:
		return s.loseShard(ctx, v, node, f.hold)
	case clientKill:
		return killClients(ctx, steps, n, f.hold)
	case clientPause:
		if err := n.Do(steps, nil, "CLIENT", "PAUSE", strconv.FormatInt(f.hold.Milliseconds(), 10)); err != nil {
			return err
		}
		return n.Do(steps, nil, "PING") // answered when the pause has ended
	case debugSleep:
		return n.Do(steps, nil, "DEBUG", "SLEEP", strconv.FormatFloat(f.hold.Seconds(), 'f', 3, 64))
	}
	return fmt.Errorf("fault %q: no such kind", f.kind)
}

// reshard moves slots one after the other. For a while, each is half on its
// way: one of its keys has moved, the others have not. Where the servers can
// move a slot by themselves, half of the faults have them do so.
func (s *soak) reshard(ctx, steps context.Context, f fault, v view, keys []string) error {
	primaries := v.fit(f)
	for _, i := range f.slots {
		slot := cluster.Slot(keys[i])
		from, err := s.cluster.Owner(steps, slot)
		if err != nil {
			return err
		}
		var targets []*servers.Node
		for _, p := range primaries {
			if n := s.cluster.Nodes()[p]; n != from {
				targets = append(targets, n)
			}
		}
		to := targets[f.target/2%len(targets)]
		if s.cluster.HasMigrateSlots() && f.target%2 == 1 {
			if err := s.cluster.MigrateSlots(steps, []uint16{slot}, to); err != nil {
				return err
			}
			continue
		}
		err = s.cluster.MigrateSlotStart(steps, slot, to)
		if err == nil {
			err = s.cluster.MigrateKeys(steps, slot, to, keys[i])
		}
		if err == nil {
			pass(ctx, f.hold)
		}
		// Also after a failure: it must not stay half on its way.
		if err = errors.Join(err, s.cluster.MigrateSlotFinish(steps, slot, to)); err != nil {
			return fmt.Errorf("slot %d from %s to %s: %w", slot, from.Addr(), to.Addr(), err)
		}
	}
	return nil
}

func stopNode(ctx context.Context, n *servers.Node, hold time.Duration) error {
	if err := n.Pause(); err != nil {
		return err
	}
	pass(ctx, hold)
	return n.Resume()
}

// killClients closes the node's connections every few milliseconds: a single
// time would hardly meet commands between their execution and their replies.
func killClients(ctx, steps context.Context, n *servers.Node, hold time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, hold)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		if err := n.Do(steps, nil, "CLIENT", "KILL", "TYPE", "normal"); err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// killNode kills a primary and starts it again when its replica has taken over:
// earlier, it would come back with its slots and without their keys.
func (s *soak) killNode(n *servers.Node) error {
	if err := n.Kill(); err != nil {
		return err
	}
	promoted := s.healthy()
	return errors.Join(promoted, s.restart(n))
}

// healthy waits until the cluster is, as long as that may take.
func (s *soak) healthy() error {
	ctx, cancel := context.WithTimeout(context.Background(), healthyTime)
	defer cancel()
	if err := s.cluster.WaitHealthy(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, s.describe())
	}
	return nil
}

// describe says what each node knows, for a cluster that does not get healthy.
func (s *soak) describe() string {
	var text string
	for i, n := range s.cluster.Nodes() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		var info, nodes string
		err := errors.Join(n.Do(ctx, &info, "CLUSTER", "INFO"), n.Do(ctx, &nodes, "CLUSTER", "NODES"))
		cancel()
		if err != nil {
			info = err.Error()
		}
		text += fmt.Sprintf("node %d at %s, pid %d:\n%s\n%s\nlog:\n%s\n", i, n.Addr(), n.Pid(), info, nodes, n.Log())
	}
	return text
}

// pass lets time pass, until the context ends.
func pass(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
