package engine

import (
	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/slots"
)

// tellTopology tells the trace how the map in use differs from the one that it
// was told of last.
func (r *refresher) tellTopology() {
	if r.client.cfg.Trace == nil || r.client.cfg.Trace.TopologyChanged == nil {
		return
	}
	after := r.client.topology.Load()
	change := changeBetween(r.shown, after)
	r.shown = after
	if change.Moved == 0 && len(change.Joined)+len(change.Left) == 0 {
		return
	}
	r.client.journal.Call("Trace.TopologyChanged", func() { r.client.cfg.Trace.TopologyChanged(change) })
}

func changeBetween(before, after *topology) redislanes.TopologyChange {
	d := slots.Diff(before, after)
	change := redislanes.TopologyChange{Joined: d.Joined, Left: d.Left, Moved: d.Moved, Owned: d.Owned}
	for _, s := range d.Shifts {
		change.Moves = append(change.Moves, redislanes.SlotsMoved(s))
	}
	return change
}
