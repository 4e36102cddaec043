package sim

import (
	"slices"
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

// TestShrink finds the two faults of many that together make a world fail.
func TestShrink(t *testing.T) {
	all := plan(source(1, ofSchedule, 0), twoKinds).Faults
	first, last := all[2], all[len(all)-2]
	runs := 0
	left := shrink(all, func(rest []Fault) bool {
		runs++
		return slices.Contains(rest, first) && slices.Contains(rest, last)
	})
	require.Equal(t, []Fault{first, last}, left)
	require.Less(t, runs, 100)
	require.Empty(t, shrink(all, func([]Fault) bool { return true }), "what fails without faults needs none")
}
