package load

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"

	"github.com/redislanes/redislanes/bench/compare/internal/settings"
)

// loadOf returns the load of a file.
func loadOf(t *testing.T, file string) settings.Load {
	f, err := settings.Parse("test.yaml", []byte(file))
	require.NoError(t, err)
	return f.Runs[0].Endpoints[0].Load
}

// TestEveryScenarioExists holds the names of package settings and the scenarios here together.
func TestEveryScenarioExists(t *testing.T) {
	require.Len(t, scenarios, len(settings.Scenarios))
	for _, name := range settings.Scenarios {
		s, ok := scenarios[name]
		require.True(t, ok, name)
		sum := 0.0
		for _, m := range s.mix {
			sum += m.of
		}
		if s.mix != nil {
			require.InDelta(t, 1, sum, 1e-12, name)
		}
	}
}

// TestShares draws evenly and counts the kinds.
func TestShares(t *testing.T) {
	const draws = 1_000_000
	tests := map[string]map[kind]float64{
		"scenario: shop":                           {get: 0.80, put: 0.15, hash: 0.025, several: 0.025, slow: 0.001},
		"scenario: dashboard":                      {get: 0.60, several: 0.30, pipeline10: 0.10, slow: 0.005},
		"scenario: head_of_line":                   {get: 0.99, slow: 0.01},
		"{scenario: head_of_line, slow_share: 0}":  {get: 1},
		"{scenario: head_of_line, slow_share: 1}":  {slow: 1},
		"{scenario: read_write, slow_share: 0.25}": {get: 0.375, put: 0.375, slow: 0.25},
	}
	for file, want := range tests {
		s := scenarioOf(loadOf(t, file))
		got := make(map[kind]float64)
		for i := range draws {
			got[s.draw(float64(i)/draws)] += 1. / draws
		}
		require.Len(t, got, len(want), file)
		for k, share := range want {
			require.InDelta(t, share, got[k], 0.01*math.Max(share, 0.1), "%s: kind %d", file, k)
		}
	}
}

// TestHashTags checks that all keys of a request are in one slot with tags, and
// those of different users not in the same one.
func TestHashTags(t *testing.T) {
	l := loadOf(t, "{scenario: mixed_10keys, hash_tags: true, keys: 100}")
	c := &caller{scenario: scenarioOf(l), tags: true, keys: newKeySet(l), pick: newPicker(l, 0)}
	slots := make(map[uint16]bool)
	for range 50 {
		keys := c.drawKeys()
		require.Len(t, keys, 10)
		for _, key := range keys {
			require.Equal(t, cluster.Slot(keys[0]), cluster.Slot(key))
		}
		slots[cluster.Slot(keys[0])] = true
	}
	require.Greater(t, len(slots), 10)
}

func TestKeysWithoutTags(t *testing.T) {
	l := loadOf(t, "{scenario: mixed_10keys, keys: 100}")
	c := &caller{scenario: scenarioOf(l), keys: newKeySet(l), pick: newPicker(l, 0)}
	keys := c.drawKeys()
	require.Len(t, keys, 10)
	require.Equal(t, c.keys.fixed, keys[:5])
	require.Subset(t, c.keys.many, keys[5:])
	nodes := make(map[int]int)
	for _, key := range keys[:5] {
		nodes[int(cluster.Slot(key))*3/cluster.SlotCount]++
	}
	require.Equal(t, map[int]int{0: 2, 1: 2, 2: 1}, nodes)
}

// TestHalfOfMixedIsFixed: with any number of keys, as with two and with ten.
func TestHalfOfMixedIsFixed(t *testing.T) {
	for n, want := range map[int][2]int{2: {1, 1}, 5: {3, 2}, 10: {5, 5}} {
		s := scenarioOf(loadOf(t, fmt.Sprintf("{scenario: mixed, keys_per_request: %d}", n)))
		require.Equal(t, want, [2]int{s.fixed, s.variable})
	}
}

// TestPicker checks that a seed gives the same keys again, callers different
// ones, and that Zipf's law prefers some.
func TestPicker(t *testing.T) {
	draw := func(p picker) (all []int) {
		for range 1000 {
			all = append(all, p.index())
		}
		return all
	}
	even, zipf := loadOf(t, "keys: 100"), loadOf(t, "keys: {number: 100, distribution: zipf, skew: 1.5}")
	require.Equal(t, draw(newPicker(even, 3)), draw(newPicker(even, 3)))
	require.NotEqual(t, draw(newPicker(even, 3)), draw(newPicker(even, 4)))
	first := func(indexes []int) (n int) {
		for _, i := range indexes {
			require.True(t, i >= 0 && i < 100)
			if i == 0 {
				n++
			}
		}
		return n
	}
	require.Less(t, first(draw(newPicker(even, 0))), 50)
	require.Greater(t, first(draw(newPicker(zipf, 0))), 250)
}

func TestLargeHash(t *testing.T) {
	for _, want := range []int{1000, 500_000, 2_000_000} {
		bytes := 0
		for _, text := range largeHash(want) {
			bytes += len(text)
		}
		require.InEpsilon(t, want, bytes, 0.02)
	}
}

// TestSchedule takes half of the arrivals of a second.
func TestSchedule(t *testing.T) {
	began := time.Now()
	s := &schedule{began: began, end: began.Add(time.Hour), rate: 0.01} // 36 an hour
	for i := range 18 {
		at, ok := s.next()
		require.True(t, ok)
		require.Equal(t, began.Add(time.Duration(i)*100*time.Second), at)
	}
	require.EqualValues(t, 18, s.missed())
	for range 18 {
		_, ok := s.next()
		require.True(t, ok)
	}
	_, ok := s.next()
	require.False(t, ok)
	require.Zero(t, s.missed())
}
