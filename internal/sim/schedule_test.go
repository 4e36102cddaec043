package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var twoKinds = []kind{
	{name: "a", weight: 1, least: time.Second, most: 2 * time.Second},
	{name: "b", weight: 3, least: time.Second, most: time.Second, after: time.Second},
}

func TestPlan(t *testing.T) {
	for seed := range uint64(100) {
		s := plan(source(seed, ofSchedule, 0), twoKinds)
		require.Equal(t, s, plan(source(seed, ofSchedule, 0), twoKinds))
		require.Greater(t, len(s.Faults), 4)
		for _, f := range s.Faults {
			require.LessOrEqual(t, f.over(), length)
			require.True(t, s.busy(f.At) && s.busy(f.over()), f)
		}
		for i := 1; i < len(s.Busy); i++ {
			require.Greater(t, s.Busy[i].From-s.Busy[i-1].To, healing)
		}
	}
}
