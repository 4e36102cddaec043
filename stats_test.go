package redislanes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
)

func TestSaturation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stats redislanes.PoolStats
		want  float64
	}{
		{redislanes.PoolStats{}, 0},
		{redislanes.PoolStats{Kind: "laned"}, 0},
		{redislanes.PoolStats{Kind: "fixed", Size: 4, InUse: 4, Capacity: 4}, 1},
		{redislanes.PoolStats{Kind: "fixed", Size: 4, Open: 8, InUse: 6, Capacity: 4}, 1},
		{redislanes.PoolStats{Kind: "laned", Size: 1, Capacity: 1024, LaneInFlight: []int{1024, 476}}, 1},
		{redislanes.PoolStats{Kind: "adaptive", Size: 8, InUse: 2, Capacity: 8}, 0.25},
		{redislanes.PoolStats{Kind: "laned", Size: 2, InUse: 4, Capacity: 2048, LaneInFlight: []int{512, 0}, SlowLaneInFlight: []int{1024}}, 0.25},
	} {
		require.Equal(t, c.want, c.stats.Saturation(), "%+v", c.stats)
	}
}
