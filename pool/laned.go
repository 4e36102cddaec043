package pool

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/lanes"
)

// Laned is a pool of a few connections that all callers share: batches of many
// callers travel together, so that one write and one read serve many. A
// command that needs a connection of its own (a blocking one, a transaction)
// is lent an extra one. Batches that are marked as slow have lanes of their own,
// so that the others do not queue behind them.
//
// The number of lanes can follow the load by the law of [Adaptive], where a lane
// counts as fully used at 256 batches in flight (or MaxInFlight, if that is
// less): Laned{Lanes: 4, MaxLanes: 16} grows when more than 1,024 are in flight
// at a time, and is back at 4 lanes when the load was low for IdleTimeout. A
// lane that is taken away gets no new batches, and is closed when it has
// answered the last one.
type Laned struct {
	// Lanes is the number of shared connections to each server, the least one
	// if MaxLanes is more. Default 4, or MaxLanes if that is less; at most 1,024.
	Lanes int

	// MaxLanes is the most shared connections to each server. Default Lanes:
	// their number does not change. At most 1,024.
	MaxLanes int

	// IdleTimeout is how long the load must have been low for lanes to be
	// taken away, or for lent connections to be closed. Default 10 s.
	IdleTimeout time.Duration

	// Strategy chooses the lane for each batch, but for slow ones, which take
	// the least used of their lanes. Default lanes.FirstFit.
	Strategy lanes.Strategy

	// SlowLanes is the number of shared connections to each server for slow
	// commands, besides Lanes. They are dialled when the first slow command
	// comes. Package cluster says which commands are slow; for a pool that is
	// used by itself, or under radix's own Cluster, none is. MaxInFlight holds
	// for each of these lanes, and MaxWaiters for a queue of their own. Default 2,
	// at most 1,024.
	SlowLanes int

	// NoSlowLanes makes slow commands travel with all others. SlowLanes must be
	// 0 then.
	NoSlowLanes bool

	// MaxInFlight is how many batches may be in flight on one lane; beyond it
	// they wait. Default 1,024, at most 1,048,576.
	MaxInFlight int

	// MaxQueuedBytes is how many bytes of commands may wait on one lane to be
	// written; beyond it batches wait in the queue, where they need no memory. A
	// lane with nothing to write takes a batch of any size. As much again may be
	// on its way to the socket. Default 8 MiB, at most 1 GiB.
	MaxQueuedBytes int

	// MaxLent is how many extra connections may be lent at a time. They are
	// dialled on demand and closed when idle. Default 50, at most 65,536.
	MaxLent int

	Options
}

const (
	defaultLanes       = 4
	defaultSlowLanes   = 2
	defaultMaxInFlight = 1024

	defaultMaxQueuedBytes = 8 << 20
	mostQueuedBytes       = 1 << 30

	// laneDepth is the number of batches in flight at which a lane counts as
	// fully used. It is half of what lanes.FirstFit packs onto a lane, so that
	// FirstFit finds a lane to spill to before a range of lanes has grown as
	// well as after it; with strategies that spread the load it bounds the
	// queue before a batch. MaxInFlight, at which callers wait, is four times
	// as much: lanes are added long before.
	laneDepth = 256
)

func (l Laned) settings() (settings, error) {
	if l.MaxLanes > 0 {
		orDefault(&l.Lanes, min(defaultLanes, l.MaxLanes))
	}
	orDefault(&l.Lanes, defaultLanes)
	orDefault(&l.MaxLanes, l.Lanes)
	orDefault(&l.IdleTimeout, defaultIdleTimeout)
	orDefault(&l.MaxInFlight, defaultMaxInFlight)
	orDefault(&l.MaxQueuedBytes, defaultMaxQueuedBytes)
	orDefault(&l.MaxLent, DefaultSize)
	if !l.NoSlowLanes {
		orDefault(&l.SlowLanes, defaultSlowLanes)
	}
	if l.Strategy == nil {
		l.Strategy = lanes.FirstFit
	}
	l.Options = l.withDefaults()
	err := firstError(inRange("Laned", "Lanes", l.Lanes, mostLanes), inRange("Laned", "MaxLanes", l.MaxLanes, mostLanes), inRange("Laned", "MaxInFlight", l.MaxInFlight, mostInFlight),
		inRange("Laned", "MaxLent", l.MaxLent, mostConnections), inRange("Laned", "MaxQueuedBytes", l.MaxQueuedBytes, mostQueuedBytes), l.validateSlow(), l.validateRange(), l.validate("Laned"))
	return settings{
		Options: l.Options, kind: "laned", min: l.Lanes, max: l.MaxLanes, idleTimeout: l.IdleTimeout,
		shared: true, strategy: l.Strategy, maxInFlight: l.MaxInFlight, maxQueued: l.MaxQueuedBytes, maxLent: l.MaxLent,
		slowLanes: l.SlowLanes,
	}, err
}

func (l Laned) validateRange() error {
	switch {
	case l.Lanes > l.MaxLanes:
		return fmt.Errorf("pool: Laned.Lanes = %d is more than MaxLanes = %d", l.Lanes, l.MaxLanes)
	case l.IdleTimeout < 0:
		return fmt.Errorf("pool: Laned.IdleTimeout = %v: must not be negative", l.IdleTimeout)
	}
	return nil
}

func (l Laned) validateSlow() error {
	if l.NoSlowLanes && l.SlowLanes > 0 {
		return fmt.Errorf("pool: Laned.SlowLanes = %d although NoSlowLanes is set: leave one of them out", l.SlowLanes)
	}
	return inRange("Laned", "SlowLanes", l.SlowLanes, mostLanes)
}

// inCluster: lanes are shared, so the default is the same everywhere.
func (l Laned) inCluster() Config { return l }

// lentSettings are those of the extra connections that a shared pool lends.
func (s settings) lentSettings() settings {
	return settings{Options: s.Options, kind: "lent", min: 0, max: s.maxLent, idleTimeout: s.idleTimeout, maxInFlight: 1}
}
