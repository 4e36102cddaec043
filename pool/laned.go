package pool

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/lanes"
)

// Laned is a pool of a few connections that all callers share: batches of many
// callers travel together, so that one write and one read serve many. A
// command that needs a dedicated connection (a blocking one, a transaction)
// gets an extra one. Batches that are marked as slow have lanes of their own,
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
	// taken away, or for dedicated connections to be closed. Default 10 s.
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

	// MaxDedicated is how many dedicated connections there may be at a time. They are
	// dialled on demand and closed when idle. Default 50, at most 65,536.
	MaxDedicated int

	// MaxLent is the former name of MaxDedicated, for which it stands if that is 0.
	//
	// Deprecated: use MaxDedicated. It goes with the first tag.
	MaxLent int

	Options
}

func (l Laned) settings() (nodepool.Settings, error) {
	slow := l.SlowLanes
	if l.NoSlowLanes {
		slow = -1
	}
	s := l.with(nodepool.Settings{
		Kind: nodepool.KindLaned, Min: l.Lanes, Max: l.MaxLanes, IdleTimeout: l.IdleTimeout, Strategy: l.Strategy,
		SlowLanes: slow, MaxInFlight: l.MaxInFlight, MaxQueued: l.MaxQueuedBytes, MaxDedicated: cmp.Or(l.MaxDedicated, l.MaxLent),
	})
	d := s.WithDefaults(false)
	return s, cmp.Or(inRange("Laned", "Lanes", d.Min, mostLanes), inRange("Laned", "MaxLanes", d.Max, mostLanes), inRange("Laned", "MaxInFlight", d.MaxInFlight, mostInFlight),
		inRange("Laned", "MaxDedicated", d.MaxDedicated, mostConnections), inRange("Laned", "MaxQueuedBytes", d.MaxQueued, mostQueuedBytes), l.validateSlow(),
		inOrder("Laned", "Lanes", d.Min, "MaxLanes", d.Max, d.IdleTimeout), validateOptions("Laned", d))
}

func (l Laned) validateSlow() error {
	if l.NoSlowLanes && l.SlowLanes > 0 {
		return fmt.Errorf("pool: Laned.SlowLanes = %d although NoSlowLanes is set: leave one of them out", l.SlowLanes)
	}
	return inRange("Laned", "SlowLanes", l.SlowLanes, mostLanes)
}
