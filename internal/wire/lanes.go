package wire

import (
	"sync/atomic"

	"github.com/redislanes/redislanes/lanes"
)

// Lanes are the lanes of one server among which a strategy chooses, by the Set.
// They do not change.
type Lanes struct {
	*lanes.Set
	lanes []*Lane
}

// NewLanes returns the lanes, which it keeps. Those of one server share the turn.
func NewLanes(open []*Lane, turn *atomic.Uint32) *Lanes {
	gauges := make([]*lanes.Gauge, len(open))
	for i, l := range open {
		gauges[i] = &l.gauge
	}
	return &Lanes{lanes.NewSet(gauges, turn), open}
}

// Lane returns the lane of index i.
func (s *Lanes) Lane(i int) *Lane { return s.lanes[i] }
