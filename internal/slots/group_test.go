package slots

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGroup(t *testing.T) {
	t.Parallel()
	owner := new([Count]uint16) // slots 0-9 are of node 0, 10-19 of node 1, and so on
	for i := range owner {
		owner[i] = uint16(i / 10)
	}
	owner[5] = NoOwner
	for _, test := range []struct {
		name                   string
		slots                  []int32
		byNode, bySlot         []int32
		nodeGroups, slotGroups int
	}{
		{name: "none"},
		{"one", []int32{3}, []int32{0}, []int32{0}, 1, 1},
		{"first appearance", []int32{25, 3, 24, 4, 3}, []int32{0, 1, 0, 1, 1}, []int32{0, 1, 2, 3, 1}, 2, 4},
		{"keyless only", []int32{-1, -1}, []int32{0, 0}, []int32{0, 0}, 1, 1},
		{"keyless first", []int32{-1, 12, -1, 1}, []int32{0, 0, 0, 1}, []int32{0, 1, 0, 2}, 2, 3},
		{"keyless last", []int32{1, 22, -1}, []int32{0, 1, 2}, []int32{0, 1, 2}, 3, 3},
		{"no owner", []int32{5, 12, 5}, []int32{-1, 0, -1}, []int32{-1, 0, -1}, 1, 1},
		{"no owner, keyless", []int32{5, -1}, []int32{-1, 0}, []int32{-1, 0}, 1, 1},
		{"no owner only", []int32{5, 5}, []int32{-1, -1}, []int32{-1, -1}, 0, 0},
		{"no such node", []int32{30, 29}, []int32{-1, 0}, []int32{-1, 0}, 1, 1},
		{"no such slot", []int32{Count, 0}, []int32{-1, 0}, []int32{-1, 0}, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var g Grouper
			groups, n := g.Group(nil, test.slots, owner, 1, 3, false)
			assert.Equal(t, fmt.Sprint(test.byNode), fmt.Sprint(groups))
			assert.Equal(t, test.nodeGroups, n)
			groups, n = g.Group(groups, test.slots, owner, 1, 3, true)
			assert.Equal(t, fmt.Sprint(test.bySlot), fmt.Sprint(groups))
			assert.Equal(t, test.slotGroups, n)
		})
	}
}

// modelGroup is group written without regard to speed.
func modelGroup(slots []int32, owner *[Count]uint16, home uint16, nodes int, bySlot bool) ([]int32, int) {
	numbers := map[int32]int32{}
	groups := make([]int32, len(slots))
	for i, slot := range slots {
		node := home
		if slot >= 0 {
			node = owner[slot]
		}
		if int(node) >= nodes {
			groups[i] = -1
			continue
		}
		id := slot
		if !bySlot {
			id = int32(node)
		}
		if _, found := numbers[id]; !found {
			numbers[id] = int32(len(numbers))
		}
		groups[i] = numbers[id]
	}
	return groups, len(numbers)
}

func TestGroupEqualsModel(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	var g Grouper
	var groups []int32
	var nodes int
	home := uint16(0)
	owner := new([Count]uint16)
	for round := range 3000 {
		if round%100 == 0 {
			nodes = 1 + rnd.IntN(20)
			home = uint16(rnd.IntN(nodes + 1)) // or none
			for i := range owner {
				owner[i] = uint16(rnd.IntN(nodes))
				if rnd.IntN(30) == 0 {
					owner[i] = NoOwner
				}
			}
		}
		n := rnd.IntN(40)
		if round%100 == 0 {
			n = rnd.IntN(20000)
		}
		slots := make([]int32, n)
		spread := 1 + rnd.Int32N(Count)
		for i := range slots {
			slots[i] = rnd.Int32N(spread)
			if round%3 == 0 { // slots that differ in their high bits only
				slots[i] = slots[i] << 7 % Count
			}
			if rnd.IntN(10) == 0 {
				slots[i] = -1
			}
		}
		for _, bySlot := range []bool{false, true} {
			var count int
			groups, count = g.Group(groups, slots, owner, home, nodes, bySlot)
			want, wantCount := modelGroup(slots, owner, home, nodes, bySlot)
			require.Equal(t, want, groups, "%v of %v", bySlot, slots)
			require.Equal(t, wantCount, count)
		}
	}
}

func TestGroupDoesNotAllocate(t *testing.T) {
	var g Grouper
	owner, slots := benchmarkSlots(20, 10)
	groups, _ := g.Group(nil, slots, owner, 0, 3, true)
	for _, bySlot := range []bool{false, true} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			groups, _ = g.Group(groups, slots, owner, 0, 3, bySlot)
		}))
	}
}

// benchmarkSlots returns n slots, distinct ones each appearing equally often,
// and the owners among three nodes.
func benchmarkSlots(n, distinct int) (*[Count]uint16, []int32) {
	owner := new([Count]uint16)
	for i := range owner {
		owner[i] = uint16(i * 3 / Count)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	perm := rnd.Perm(Count)
	slots := make([]int32, n)
	for i := range slots {
		slots[i] = int32(perm[i%distinct])
	}
	return owner, slots
}

func BenchmarkGroup(b *testing.B) {
	for _, c := range []struct {
		commands, slots int
		bySlot          bool
	}{{20, 20, false}, {20, 10, true}, {10000, 5000, false}, {10000, 5000, true}} {
		b.Run(fmt.Sprintf("commands=%d/slots=%d/bySlot=%v", c.commands, c.slots, c.bySlot), func(b *testing.B) {
			owner, slots := benchmarkSlots(c.commands, c.slots)
			var g Grouper
			groups, _ := g.Group(nil, slots, owner, 0, 3, c.bySlot)
			b.ReportAllocs()
			for b.Loop() {
				groups, _ = g.Group(groups, slots, owner, 0, 3, c.bySlot)
			}
		})
	}
}
