package slots

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server is a node of the tests.
type server struct {
	addr string
	down bool
	took time.Duration
}

func (s *server) Addr() string             { return s.addr }
func (s *server) Answers(bool) bool        { return !s.down }
func (s *server) ReplyTime() time.Duration { return s.took }

// TestHome: commands without a key stay with their node and replica as long as
// the map has them.
func TestHome(t *testing.T) {
	t.Parallel()
	nodes := map[string]*server{}
	find := func(addr string) *server {
		if nodes[addr] == nil {
			nodes[addr] = &server{addr: addr}
		}
		return nodes[addr]
	}
	part := func(first, last uint16, addrs ...string) Range {
		r := Range{First: first, Last: last}
		for _, addr := range addrs {
			r.Nodes = append(r.Nodes, NodeAddr{Addr: addr})
		}
		return r
	}
	empty := NewTable(nil, find)
	empty.Turn = 2
	require.Nil(t, empty.Primary(NoKey))
	require.Nil(t, empty.Replica(NoKey, nil))
	before := empty
	for _, step := range []struct {
		name          string
		ranges        []Range
		home, replica string
	}{
		{"the client's turn decides", []Range{part(8000, 16383, "b", "b1"), part(0, 7999, "a", "a1", "a2")}, "a", "a1"},
		{"slots move", []Range{part(0, 15999, "b", "b1"), part(16000, 16383, "a", "a2", "a1")}, "a", "a1"},
		{"a replica leaves", []Range{part(0, 15999, "b", "b1"), part(16000, 16383, "a", "a2")}, "a", "a2"},
		{"it has none", []Range{part(0, 15999, "b", "b1"), part(16000, 16383, "a")}, "a", ""},
		{"the node leaves", []Range{part(5, 16383, "b", "b1")}, "b", "b1"},
		{"a failover", []Range{part(5, 16383, "b1", "b")}, "b1", "b"},
		{"no replicas", []Range{part(0, 99, "c"), part(100, 16383, "b1")}, "b1", ""},
	} {
		now := NewTable(NewMap(step.ranges, nil, ""), find).Behind(before)
		require.Equal(t, step.home, now.Primary(NoKey).addr, step.name)
		if step.replica == "" {
			require.Nil(t, now.Replica(NoKey, nil), step.name)
		} else {
			require.Equal(t, step.replica, now.Replica(NoKey, nil).addr, step.name)
		}
		if home := now.Primary(NoKey); len(now.Nodes) > 1 {
			home.down = true
			require.NotEqual(t, step.home, now.Primary(NoKey).addr, step.name)
			home.down = false
		}
		require.Equal(t, now.Primary(NoKey), now.WithOwners([]Move[*server]{{1, find("new")}}).Primary(NoKey), step.name)
		before = now
	}
}

// TestLessons: what MOVED has taught stands until the map has another claim to the slot, or the node does not
// answer.
func TestLessons(t *testing.T) {
	t.Parallel()
	find := nodesByAddr()
	taught := NewTable(told(t, thirds...), find).WithOwners([]Move[*server]{{5, find("a2:1")}, {16383, find("b:1")}})
	require.Equal(t, []*server{find("a2:1"), find("b:1")}, taught.Taught())
	owner := func(slot int32, claims ...string) string {
		return NewTable(told(t, claims...), find).Behind(taught).Primary(slot).addr
	}
	require.Equal(t, "a2:1", owner(5, thirds...))
	require.Equal(t, "a:1", owner(6, thirds...))
	require.Equal(t, "a:1", owner(5, renewed...))
	require.Equal(t, "a2:1", owner(6, promoted...))
	require.Equal(t, "b:1", owner(16383, promoted...))
	find("b:1").down = true
	require.Equal(t, "c:1", owner(16383, promoted...))
}

// TestReplicaOfASlot: it is the same one whichever server told the map, and each
// replica has its share of the slots.
func TestReplicaOfASlot(t *testing.T) {
	t.Parallel()
	nodes := map[string]*server{}
	find := func(addr string) *server {
		if nodes[addr] == nil {
			nodes[addr] = &server{addr: addr}
		}
		return nodes[addr]
	}
	told := func(replicas ...string) *Table[*server] {
		r := Range{First: 0, Last: Count - 1, Nodes: []NodeAddr{{Addr: "p"}}}
		for _, addr := range replicas {
			r.Nodes = append(r.Nodes, NodeAddr{Addr: addr})
		}
		return NewTable(NewMap([]Range{r}, nil, ""), find)
	}
	one, other := told("a", "b", "c"), told("c", "a", "b")
	share := map[string]int{}
	for slot := range int32(Count) {
		require.Same(t, one.Replica(slot, nil), one.Replica(slot, nil))
		require.Same(t, one.Replica(slot, nil), other.Replica(slot, nil))
		share[one.Replica(slot, nil).addr]++
	}
	for _, addr := range []string{"a", "b", "c"} {
		require.InDelta(t, Count/3, share[addr], 1)
	}
}

// TestSlowReplica: a replica that is much slower than another one is passed over, also for one that is not
// near. Unknown reply times are good.
func TestSlowReplica(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		took  [3]time.Duration // of a and b, which are near, and c
		avoid bool             // b
		want  string
	}{
		"unknown":           {[3]time.Duration{}, false, "a"},
		"as usual":          {[3]time.Duration{ms, ms, ms}, false, "a"},
		"slow":              {[3]time.Duration{10 * ms, ms, ms}, false, "b"},
		"and b has failed":  {[3]time.Duration{10 * ms, ms, ms}, true, "c"},
		"the near are slow": {[3]time.Duration{10 * ms, 10 * ms, ms}, false, "c"},
		"all are":           {[3]time.Duration{10 * ms, 10 * ms, 9 * ms}, false, "a"},
		"others unknown":    {[3]time.Duration{10 * ms, 0, 0}, false, "a"},
		"what has failed is nothing to compare with": {[3]time.Duration{10 * ms, ms, 10 * ms}, true, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := map[string]*server{"p": {addr: "p"}, "a": {addr: "a", took: c.took[0]}, "b": {addr: "b", took: c.took[1]}, "c": {addr: "c", took: c.took[2]}}
			r := Range{First: 0, Last: Count - 1, Nodes: []NodeAddr{{Addr: "p"}, {Addr: "a", Near: true}, {Addr: "b", Near: true}, {Addr: "c"}}}
			table := NewTable(NewMap([]Range{r}, nil, ""), func(addr string) *server { return nodes[addr] })
			var avoid []*server
			if c.avoid {
				avoid = append(avoid, nodes["b"])
			}
			require.Equal(t, c.want, table.Replica(0, avoid).addr)
		})
	}
}
