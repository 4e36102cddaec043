package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSettle: commands without a key stay with their node and replica as long as
// the map has them; otherwise they go where every client's go.
func TestSettle(t *testing.T) {
	t.Parallel()
	nodes := map[string]*node{}
	find := func(addr string) *node {
		if nodes[addr] == nil {
			nodes[addr] = &node{addr: addr}
		}
		return nodes[addr]
	}
	part := func(first, last uint16, addrs ...string) slotRange {
		r := slotRange{first: first, last: last}
		for _, addr := range addrs {
			r.nodes = append(r.nodes, nodeAddr{addr: addr})
		}
		return r
	}
	empty := newTopology(nil, find)
	require.Nil(t, empty.primary(noKey))
	require.Nil(t, empty.replica(noKey, nil))
	var before *topology
	for _, step := range []struct {
		name          string
		ranges        []slotRange
		home, replica string
	}{
		{"the lowest slot decides, not the order", []slotRange{part(8000, 16383, "b", "b1"), part(0, 7999, "a", "a1", "a2")}, "a", "a1"},
		{"slots move", []slotRange{part(0, 15999, "b", "b1"), part(16000, 16383, "a", "a2", "a1")}, "a", "a1"},
		{"a replica leaves", []slotRange{part(0, 15999, "b", "b1"), part(16000, 16383, "a", "a2")}, "a", "a2"},
		{"it is the only one left elsewhere", []slotRange{part(0, 15999, "b", "b1"), part(16000, 16383, "a")}, "a", "b1"},
		{"the node leaves", []slotRange{part(5, 16383, "b", "b1")}, "b", "b1"},
		{"a failover", []slotRange{part(5, 16383, "b1", "b")}, "b1", "b"},
		{"no replicas", []slotRange{part(0, 99, "c"), part(100, 16383, "b1")}, "b1", ""},
	} {
		now := newTopology(&view{ranges: step.ranges}, find)
		now.settle(before)
		require.Equal(t, step.home, now.primary(noKey).addr, step.name)
		if step.replica == "" {
			require.Nil(t, now.replica(noKey, nil), step.name)
		} else {
			require.Equal(t, step.replica, now.replica(noKey, nil).addr, step.name)
		}
		if len(now.nodes) > 1 {
			require.NotEqual(t, step.home, now.withoutHome().primary(noKey).addr, step.name)
		}
		require.Equal(t, now.primary(noKey), now.withOwners([]move{{1, find("new")}}).primary(noKey), step.name)
		before = now
	}
}

// TestReplicaOfASlot: it is the same one whichever server told the map, and each
// replica has its share of the slots.
func TestReplicaOfASlot(t *testing.T) {
	t.Parallel()
	nodes := map[string]*node{}
	find := func(addr string) *node {
		if nodes[addr] == nil {
			nodes[addr] = &node{addr: addr}
		}
		return nodes[addr]
	}
	told := func(replicas ...string) *topology {
		r := slotRange{first: 0, last: SlotCount - 1, nodes: []nodeAddr{{addr: "p"}}}
		for _, addr := range replicas {
			r.nodes = append(r.nodes, nodeAddr{addr: addr})
		}
		return newTopology(&view{ranges: []slotRange{r}}, find)
	}
	one, other := told("a", "b", "c"), told("c", "a", "b")
	share := map[string]int{}
	for slot := range int32(SlotCount) {
		require.Same(t, one.replica(slot, nil), one.replica(slot, nil))
		require.Same(t, one.replica(slot, nil), other.replica(slot, nil))
		share[one.replica(slot, nil).addr]++
	}
	for _, addr := range []string{"a", "b", "c"} {
		require.InDelta(t, SlotCount/3, share[addr], 1)
	}
}
