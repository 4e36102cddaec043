package pool

import (
	"cmp"
	"time"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/lanes"
)

// Laned is a pool of a few connections, called lanes, that all callers share. Batches of many
// callers travel together, so that one write and one read serve many. Slow commands have lanes
// of their own. A blocking command, a transaction or a radix.WithConn gets a dedicated
// connection.
//
// The number of lanes can follow the load as in [Adaptive]: Laned{Lanes: 4, MaxLanes: 16}. A
// lane counts as fully used at 256 batches in flight, or at MaxInFlight if that is less. So this
// pool grows when more than 1,024 batches are in flight, and returns to 4 lanes when the load has
// been low for IdleTimeout. A lane that leaves gets no new batches and closes after its last
// reply.
type Laned struct {
	// Lanes is the number of lanes to each server. If MaxLanes is more, it is the least
	// number. Default 4, or MaxLanes if that is less; at most 1,024.
	Lanes int

	// MaxLanes is the most lanes to each server. Default Lanes, so that their number does
	// not change. At most 1,024.
	MaxLanes int

	// IdleTimeout is how long the load must be low before lanes leave, and how long a
	// dedicated connection is idle before it is closed. Default 10 s, at least 1 ms.
	IdleTimeout time.Duration

	// Strategy chooses the lane for each batch. Default lanes.FirstFit. A batch of slow
	// commands takes the least used of the lanes for slow commands instead.
	Strategy lanes.Strategy

	// SlowLanes is the number of lanes to each server for slow commands, in addition to
	// Lanes. Default 2, at most 1,024; negative for none: slow commands travel with all others
	// then. The first slow command makes the pool dial them. MaxInFlight holds for each of
	// them. They have a queue of their own, with its own MaxWaiters. Package cluster says which
	// commands are slow. In a pool under radix's own Cluster no command is slow.
	SlowLanes int

	// MaxInFlight is how many batches may be in flight on one lane. Further batches wait.
	// Default 1,024, at most 1,048,576.
	MaxInFlight int

	// MaxQueuedBytes is how many bytes of commands may wait on one lane to be written.
	// Beyond it, batches wait in the queue, where they need no memory. A lane that has
	// nothing to write takes a batch of any size. While a write is under way, another
	// MaxQueuedBytes may wait behind it. Default 8 MiB, at most 1 GiB.
	MaxQueuedBytes int

	// MaxDedicated is how many dedicated connections there may be at a time. They are
	// dialled on demand and closed when idle. Default 50, at most 65,536.
	MaxDedicated int

	Options
}

func (l Laned) settings() (nodepool.Settings, error) {
	s := l.with(nodepool.Settings{
		Kind: nodepool.KindLaned, Min: l.Lanes, Max: l.MaxLanes, IdleTimeout: l.IdleTimeout, Strategy: l.Strategy,
		SlowLanes: l.SlowLanes, MaxInFlight: l.MaxInFlight, MaxQueued: l.MaxQueuedBytes, MaxDedicated: l.MaxDedicated,
	})
	d := s.WithDefaults(false)
	return s, cmp.Or(inRange("Laned", "Lanes", d.Min, mostLanes), inRange("Laned", "MaxLanes", d.Max, mostLanes), inRange("Laned", "MaxInFlight", d.MaxInFlight, mostInFlight),
		inRange("Laned", "MaxDedicated", d.MaxDedicated, mostConnections), inRange("Laned", "MaxQueuedBytes", d.MaxQueued, mostQueuedBytes), inRange("Laned", "SlowLanes", max(0, l.SlowLanes), mostLanes),
		inOrder("Laned", "Lanes", d.Min, "MaxLanes", d.Max, d.IdleTimeout), validateOptions("Laned", d))
}
