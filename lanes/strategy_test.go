package lanes

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// setOf returns a set of lanes with so many batches in flight.
func setOf(inFlight ...int32) *Set {
	all := make([]*Lane, len(inFlight))
	for i, n := range inFlight {
		all[i] = new(Lane)
		all[i].inFlight.Store(n)
	}
	return NewSet(all, new(atomic.Uint32))
}

// tally counts how often the strategy takes each lane.
func tally(t *testing.T, s Strategy, set *Set, times int) []int {
	t.Helper()
	taken := make([]int, set.Len())
	for range times {
		i := s(set)
		require.GreaterOrEqual(t, i, 0)
		require.Less(t, i, set.Len())
		taken[i]++
	}
	return taken
}

var strategies = map[string]Strategy{
	"FirstFit": FirstFit, "RoundRobin": RoundRobin, "LeastUsed": LeastUsed, "Affinity": Affinity, "PowerOfTwo": PowerOfTwo,
}

func TestStrategiesStayInRangeAndAllocateNothing(t *testing.T) {
	for name, s := range strategies {
		for n := 1; n <= 5; n++ {
			set := setOf(make([]int32, n)...)
			tally(t, s, set, 100)
			set.turn.Store(1<<32 - 50) // the turn begins again
			tally(t, s, set, 100)
			assert.Zero(t, testing.AllocsPerRun(1000, func() { s(set) }), name)
		}
	}
}

func TestRoundRobinIsEven(t *testing.T) {
	assert.Equal(t, []int{100, 100, 100}, tally(t, RoundRobin, setOf(9, 0, 3), 300))
}

func TestLeastUsed(t *testing.T) {
	assert.Equal(t, []int{0, 0, 10, 0}, tally(t, LeastUsed, setOf(3, 2, 1, 5), 10))
	assert.Equal(t, []int{10, 10, 10, 10}, tally(t, LeastUsed, setOf(0, 0, 0, 0), 40), "idle lanes share the load")
	assert.Equal(t, []int{10, 10, 10, 10}, tally(t, LeastUsed, setOf(7, 7, 7, 7), 40), "and so do equally used ones")
}

func TestPowerOfTwo(t *testing.T) {
	taken := tally(t, PowerOfTwo, setOf(5, 0, 5, 5), 4000)
	assert.InDelta(t, 2000, taken[1], 300, "it is one of the two half of the time, and then it wins")
	taken = tally(t, PowerOfTwo, setOf(0, 9), 1000)
	assert.Equal(t, []int{1000, 0}, taken)
	for i, n := range tally(t, PowerOfTwo, setOf(0, 0, 0, 0), 4000) {
		assert.InDelta(t, 1000, n, 300, "lane %d", i)
	}
}

func TestFirstFitSpills(t *testing.T) {
	const full = firstFitDepth
	assert.Equal(t, []int{10, 0, 0}, tally(t, FirstFit, setOf(full-1, 0, 0), 10))
	assert.Equal(t, []int{0, 10, 0}, tally(t, FirstFit, setOf(full, full-1, 0), 10))
	assert.Equal(t, []int{0, 0, 10}, tally(t, FirstFit, setOf(full+2, full+1, full), 10), "all are crowded: the least used")
}

func TestSetDescribesItsLanes(t *testing.T) {
	set := setOf(1, 2)
	assert.Equal(t, 2, set.Len())
	assert.Equal(t, 2, set.InFlight(1))
	assert.Equal(t, 2, set.Lane(1).InFlight())
	assert.Equal(t, uint32(0), set.Turn())
	assert.Equal(t, uint32(1), NewSet(nil, set.turn).Turn(), "sets of one server share the turn")
}
