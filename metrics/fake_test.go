package metrics_test

import (
	"time"

	"github.com/redislanes/redislanes"
)

// fake is a Source of fixed figures.
type fake redislanes.Stats

func (f fake) Stats() redislanes.Stats { return redislanes.Stats(f) }

// busy has every kind of pool, and every figure is one that no other has by
// accident.
func busy() fake {
	return fake{
		Slots: 16_383, Moved: 11, Ask: 3, Refused: 5, NotSent: 2, Repeated: 1, Refreshes: 40, RefreshErrors: 1,
		Nodes: []redislanes.NodeStats{
			{Role: "primary", Pool: lanedStats()},
			{Role: "replica", Pool: redislanes.PoolStats{
				Addr: "10.0.0.2:6379", Kind: "fixed", Size: 50, Open: 48, InUse: 36, Capacity: 50, Dials: 58, DialErrors: 7,
				Closes:       map[string]uint64{"io": 3},
				ErrorReplies: map[string]uint64{"OOM": 21, "other": 14, "CANARY": 1},
			}},
			{Role: "primary", Pool: redislanes.PoolStats{
				Addr: "[2001:db8::3]:6379", Kind: "adaptive", Size: 20, Capacity: 20,
			}},
		},
	}
}

func lanedStats() redislanes.PoolStats {
	return redislanes.PoolStats{
		Addr: "10.0.0.1:6379", Kind: "laned", Size: 8, Open: 12, InUse: 10,
		Capacity: 4096, LaneInFlight: []int{1000, 24, 0}, SlowLaneInFlight: []int{10, 5},
		Waiters: 9, WaitCount: 800, WaitTime: 1500 * time.Millisecond, Exhausted: 13,
		Dials: 16, DialErrors: 4, Down: true, Downs: 2,
		Closes: map[string]uint64{"stalled": 8, "idle": 1, "meteor": 1},
	}
}
