package engine

import (
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
)

// tellTopology tells the observer how the map in use differs from the one that it
// was told of last. Refreshes, which run one at a time, call it.
func (c *Client) tellTopology() {
	if c.cfg.Topology == nil {
		return
	}
	l, after := &c.refreshLog, c.topology.Load()
	change := changeBetween(l.shown, after)
	l.shown = after
	if change.Moved == 0 && len(change.Joined)+len(change.Left) == 0 {
		return
	}
	err := func() (err error) {
		defer guard.Catch("TopologyObserver.TopologyChanged", &err)
		c.cfg.Topology.TopologyChanged(change)
		return nil
	}()
	c.journal.Panicked(err)
}

func changeBetween(before, after *topology) TopologyChange {
	d := slots.Diff(before, after)
	change := TopologyChange{Joined: d.Joined, Left: d.Left, Moved: d.Moved, Owned: d.Owned}
	for _, s := range d.Shifts {
		change.Moves = append(change.Moves, SlotsMoved(s))
	}
	return change
}
