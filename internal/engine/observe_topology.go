package engine

import (
	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/slots"
)

// tellTopology tells the trace how the map in use differs from the one that it
// was told of last. Refreshes, which run one at a time, call it.
func (c *Client) tellTopology() {
	if c.cfg.Trace == nil || c.cfg.Trace.TopologyChanged == nil {
		return
	}
	l, after := &c.refreshLog, c.topology.Load()
	change := changeBetween(l.shown, after)
	l.shown = after
	if change.Moved == 0 && len(change.Joined)+len(change.Left) == 0 {
		return
	}
	c.tell("Trace.TopologyChanged", func() { c.cfg.Trace.TopologyChanged(change) })
}

func changeBetween(before, after *topology) redislanes.TopologyChange {
	d := slots.Diff(before, after)
	change := redislanes.TopologyChange{Joined: d.Joined, Left: d.Left, Moved: d.Moved, Owned: d.Owned}
	for _, s := range d.Shifts {
		change.Moves = append(change.Moves, redislanes.SlotsMoved(s))
	}
	return change
}
