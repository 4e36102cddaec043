package pool

import (
	"cmp"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/lanes"
)

// Laned is a pool of a few connections, called lanes, that all callers share. Batches of many
// callers travel together, so that one write and one read serve many. Slow commands have lanes
// of their own. A blocking command, a transaction or a radix.WithConn gets a dedicated
// connection.
type Laned struct {
	// Lanes is the number of lanes to each server. Default 4, at most 1,024.
	Lanes int

	// Strategy chooses the lane for each batch. Default lanes.FirstFit. A batch of slow
	// commands takes the least used of the lanes for slow commands instead.
	Strategy lanes.Strategy

	// SlowLanes is the number of lanes to each server for slow commands, in addition to
	// Lanes. Default 2, at most 1,024; negative for none: slow commands travel with all others
	// then. The first slow command makes the pool dial them. MaxInFlight holds for each of
	// them. They have a queue of their own, with its own MaxWaiters. Package cluster says which
	// commands are slow. In any laned pool, batches of 256 KiB or more travel there.
	SlowLanes int

	// MaxInFlight is how many batches may be in flight on one lane. Further batches wait. They
	// also wait while 8 MiB of commands wait on each lane to be written.
	// Default 1,024, at most 1,048,576.
	MaxInFlight int

	// MaxDedicated is how many dedicated connections there may be at a time. They are
	// dialled on demand, and closed when they were idle for 10 s. Default 50, at most 65,536.
	MaxDedicated int

	Options
}

func (l Laned) settings() (nodepool.Settings, error) {
	s := l.with(nodepool.Settings{
		Kind: nodepool.KindLaned, Max: l.Lanes, Strategy: l.Strategy,
		SlowLanes: l.SlowLanes, MaxInFlight: l.MaxInFlight, MaxDedicated: l.MaxDedicated,
	})
	d := s.WithDefaults(false)
	return s, cmp.Or(inRange("Laned", "Lanes", d.Max, mostLanes), inRange("Laned", "MaxInFlight", d.MaxInFlight, mostInFlight),
		inRange("Laned", "MaxDedicated", d.MaxDedicated, mostConnections), inRange("Laned", "SlowLanes", max(0, l.SlowLanes), mostLanes),
		validateOptions("Laned", d))
}
