package lanes

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// setOf returns a set of lanes with so many batches in flight.
func setOf(inFlight ...int32) *Set {
	all := make([]*Gauge, len(inFlight))
	for i, n := range inFlight {
		all[i] = &Gauge{ID: rand.Uint64()}
		all[i].InFlight.Store(n)
	}
	return NewSet(all, nil)
}

// tally counts how often the strategy takes each lane.
func tally(t *testing.T, s Strategy, set *Set, times int) []int {
	t.Helper()
	taken := make([]int, set.Len())
	for n := range times {
		i := s(set, int64(n))
		require.GreaterOrEqual(t, i, 0)
		require.Less(t, i, set.Len())
		taken[i]++
	}
	return taken
}

func TestStrategiesStayInRangeAndAllocateNothing(t *testing.T) {
	for _, s := range named {
		for n := 1; n <= 5; n++ {
			set := setOf(make([]int32, n)...)
			tally(t, s.Strategy, set, 100)
			set.turn.Store(1<<32 - 50) // the turn begins again
			tally(t, s.Strategy, set, 100)
			assert.Zero(t, testing.AllocsPerRun(1000, func() { s.Strategy(set, 7) }), s.name)
			assert.Zero(t, testing.AllocsPerRun(1000, func() { s.Strategy(set, -1) }), s.name)
		}
	}
}

func TestRoundRobinIsEven(t *testing.T) {
	assert.Equal(t, []int{100, 100, 100}, tally(t, RoundRobin, setOf(9, 0, 3), 300))
}

func TestLeastUsed(t *testing.T) {
	assert.Equal(t, []int{0, 0, 10, 0}, tally(t, LeastUsed, setOf(3, 2, 1, 5), 10))
	for _, used := range []int32{0, 7} {
		for i, n := range tally(t, LeastUsed, setOf(used, used, used, used), 4000) {
			assert.InDelta(t, 1000, n, 300, "equally used lanes share the load: lane %d", i)
		}
	}
}

// TestLeastUsedHasNoHerd: callers at the same moment, each of which keeps its
// batch in flight, spread over all lanes. A caller that looks before the others'
// batches are counted may be wrong by as many as there are callers.
func TestLeastUsedHasNoHerd(t *testing.T) {
	const callers, each, size = 16, 100, 8
	set := setOf(make([]int32, size)...)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				set.gauges[LeastUsed(set, -1)].InFlight.Add(1)
			}
		})
	}
	all.Wait()
	for i := range size {
		assert.InDelta(t, callers*each/size, set.InFlight(i), callers, "lane %d", i)
	}
}

func TestByKey(t *testing.T) {
	const keys, size = 16384, 8
	set := setOf(make([]int32, size)...)
	taken := make([]int, size)
	for key := range int64(keys) {
		i := ByKey(set, key)
		taken[i]++
		require.Equal(t, i, ByKey(set, key), "the same key, the same lane")
	}
	for i, n := range taken {
		assert.InDelta(t, keys/size, n, keys/size/4, "lane %d", i)
	}
	assert.Equal(t, []int{0, 10, 0}, tally(t, func(s *Set, _ int64) int { return ByKey(s, -1) }, setOf(firstFitDepth, 0, 0), 10),
		"without a key, as FirstFit")
}

// TestByKeyMovesFewKeys loses each lane in turn, and gets a new one for it: only
// the keys of the lost lane move, and only keys that the new one wins.
func TestByKeyMovesFewKeys(t *testing.T) {
	all := setOf(0, 0, 0, 0, 0).gauges
	before := NewSet(all, nil)
	fresh := setOf(0).gauges[0]
	for lost := range all {
		rest := slices.Delete(slices.Clone(all), lost, lost+1)
		without, with := NewSet(rest, nil), NewSet(append(slices.Clone(rest), fresh), nil)
		for key := range int64(16384) {
			old, now, then := before.gauges[ByKey(before, key)], without.gauges[ByKey(without, key)], with.gauges[ByKey(with, key)]
			if old != all[lost] {
				require.Same(t, old, now)
			}
			if then != fresh {
				require.Same(t, now, then)
			}
		}
	}
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
	assert.Equal(t, uint32(0), set.Turn())
	assert.Equal(t, uint32(1), NewSet(nil, set.turn).Turn(), "sets of one server share the turn")
}
