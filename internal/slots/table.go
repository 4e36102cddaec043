package slots

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/health"
)

// NoOwner marks a slot that no node serves in a table of owners.
const NoOwner = 0xFFFF

// NoKey is the slot of a command without a key.
const NoKey = -1

// A Node is the server at an address, as the program that sends commands holds it.
type Node interface {
	comparable // the zero value is none
	Addr() string
	Answers(primary bool) bool // as far as is known, commands for a primary or those for a replica
	ReplyTime() time.Duration  // of commands for a replica; 0: unknown
}

// A Table is which node owns which slot, at one moment: the map in use, and what MOVED has
// taught since. It is immutable: requests load it once and read it without a lock.
type Table[N Node] struct {
	Owner    [Count]uint16 // index into nodes, or NoOwner
	Nodes    []N           // primaries
	Replicas [][]N         // of each primary, sorted: servers name them in different orders
	near     []int         // how many of each primary's replicas, the first ones, are in the client's zone
	Single   bool          // a server without cluster mode: keys of one command may be in any slots
	Map      *Map          // the map that is in use; owner differs by what MOVED has taught since
	Version  uint64        // changes whenever a slot gets another owner
	learned  bool          // MOVED has taught something since

	settled uint16 // see Home
	Turn    uint32 // of the client: it spreads the homes over the nodes
}

// NewTable builds a table; find returns the node of an address.
func NewTable[N Node](v *Map, find func(addr string) N) *Table[N] {
	t := &Table[N]{Map: v, settled: NoOwner}
	for slot := range t.Owner {
		t.Owner[slot] = NoOwner
	}
	if v == nil {
		return t
	}
	t.Single = v.Kind != Cluster
	index := make(map[string]uint16)
	near := make(map[N]bool)
	for _, r := range v.Ranges {
		i, ok := index[r.owner().Addr]
		if !ok {
			i = uint16(len(t.Nodes))
			index[r.owner().Addr] = i
			t.Nodes, t.Replicas = append(t.Nodes, find(r.owner().Addr)), append(t.Replicas, nil)
		}
		for slot := int(r.First); slot <= int(r.Last); slot++ {
			t.Owner[slot] = i
		}
		for _, replica := range r.Nodes[1:] {
			if n := find(replica.Addr); !slices.Contains(t.Replicas[i], n) {
				t.Replicas[i] = append(t.Replicas[i], n)
				near[n] = replica.Near
			}
		}
	}
	t.sortReplicas(near)
	return t
}

// Behind returns t as the table that follows the one before it.
//
//   - What MOVED has taught that one stands, until the map has another claim to the slot, or the node does
//     not answer.
//   - Commands without a key stay with their node, as long as it is there. So they find what earlier ones
//     have left: SCRIPT LOAD, CONFIG SET, a SCAN that has begun. Otherwise each client takes the next primary,
//     so that the clients spread over the nodes.
//   - Version is that of before, and one more if any slot has another owner.
func (t *Table[N]) Behind(before *Table[N]) *Table[N] {
	var moves []Move[N]
	before.eachLesson(t.Map, func(m Move[N]) {
		if m.To.Answers(true) {
			moves = append(moves, m)
		}
	})
	t = t.WithOwners(moves)
	if t.Turn = before.Turn; len(t.Nodes) > 0 {
		t.settled = uint16(t.Turn % uint32(len(t.Nodes)))
	}
	if i := slices.Index(t.Nodes, before.Primary(NoKey)); i >= 0 {
		t.settled = uint16(i)
	}
	if t.Version = before.Version; t.Owner != before.Owner || !slices.Equal(t.Nodes, before.Nodes) {
		t.Version++
	}
	return t
}

// Home returns where commands without a key go, as an index into Nodes: to their usual node
// or, while that is down, to the next one that answers. It is NoOwner if there are no nodes.
func (t *Table[N]) Home() uint16 {
	for k := range t.Nodes {
		if i := (int(t.settled) + k) % len(t.Nodes); t.Nodes[i].Answers(true) {
			return uint16(i)
		}
	}
	return t.settled
}

// A Move is what a MOVED said: the slot has another owner.
type Move[N Node] struct {
	Slot uint16
	To   N
}

// WithOwners returns a copy in which the slots have the owners that MOVED named,
// or t itself if they do already. The table of slots is copied once, however
// many moves there are.
func (t *Table[N]) WithOwners(moves []Move[N]) *Table[N] {
	known := func(m Move[N]) bool { return t.Primary(int32(m.Slot)) == m.To }
	if !slices.ContainsFunc(moves, func(m Move[N]) bool { return !known(m) }) {
		return t
	}
	next := *t
	next.Nodes, next.Replicas, next.near = slices.Clone(t.Nodes), slices.Clone(t.Replicas), slices.Clone(t.near)
	index := make(map[N]uint16, len(next.Nodes))
	for i, n := range next.Nodes {
		index[n] = uint16(i)
	}
	for _, m := range moves {
		i, ok := index[m.To]
		if !ok {
			i = uint16(len(next.Nodes))
			index[m.To] = i
			next.Nodes = append(next.Nodes, m.To)
			next.Replicas, next.near = append(next.Replicas, nil), append(next.near, 0)
		}
		next.Owner[m.Slot] = i
	}
	next.Version++
	next.learned = true
	return &next
}

// Taught returns the nodes that MOVED has named since the map was fetched.
func (t *Table[N]) Taught() (nodes []N) {
	t.eachLesson(t.Map, func(m Move[N]) {
		if !slices.Contains(nodes, m.To) {
			nodes = append(nodes, m.To)
		}
	})
	return nodes
}

// eachLesson calls f with each MOVED that t was taught, if the other map has the same claim to the slot as
// the map of t.
func (t *Table[N]) eachLesson(other *Map, f func(Move[N])) {
	if !t.learned || t.Map == nil {
		return
	}
	eachRun([]*Map{t.Map, other}, func(first, last int, rows []*Range) {
		if !rows[0].sameOwner(rows[1]) || rows[0] != nil && rows[0].Epoch != rows[1].Epoch {
			return
		}
		for slot := first; slot <= last; slot++ {
			if i := t.Owner[slot]; i != NoOwner && (rows[0] == nil || t.Nodes[i].Addr() != rows[0].owner().Addr) {
				f(Move[N]{uint16(slot), t.Nodes[i]})
			}
		}
	})
}

// Primary returns the owner of the slot, or the node of commands without a key;
// nil if there is none.
func (t *Table[N]) Primary(slot int32) (none N) {
	var i uint16
	if slot >= 0 {
		i = t.Owner[slot]
	} else {
		i = t.Home()
	}
	if i == NoOwner {
		return none
	}
	return t.Nodes[i]
}

// All returns primaries and replicas, each once.
func (t *Table[N]) All() []N {
	nodes := slices.Clone(t.Nodes)
	for _, replicas := range t.Replicas {
		for _, n := range replicas {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// Covered returns how many slots have an owner.
func (t *Table[N]) Covered() (n int) {
	for _, i := range t.Owner {
		if i != NoOwner {
			n++
		}
	}
	return n
}

// Replica returns the replica for commands of the slot, or that of commands without a
// key; nil if there is none that is up, as far as is known, and not among those to avoid.
// It is the same one while it is up and the owner's replicas are the same: another one has
// other cursors, and may lag further behind. Those in the client's zone come first.
func (t *Table[N]) Replica(slot int32, avoid []N) (none N) {
	var i uint16
	if slot >= 0 {
		i = t.Owner[slot]
	} else {
		i, slot = t.Home(), 0
	}
	if i == NoOwner {
		return none
	}
	return t.replicaOf(int(i), int(slot), avoid)
}

// replicaOf chooses among the replicas of the i-th primary. Slots are shared out among
// those of one zone. A replica that is much slower than another one is passed over.
func (t *Table[N]) replicaOf(i, slot int, avoid []N) (none N) {
	best := time.Duration(0)
	for _, n := range t.Replicas[i] {
		if took := n.ReplyTime(); took > 0 && (best == 0 || took < best) && isReadable(n, avoid) {
			best = took
		}
	}
	near := t.near[i]
	for _, replicas := range [...][]N{t.Replicas[i][:near], t.Replicas[i][near:]} {
		for k := range replicas {
			n := replicas[(slot+k)%len(replicas)]
			if isReadable(n, avoid) && !health.Slow(n.ReplyTime(), best) {
				return n
			}
		}
	}
	return none
}

func isReadable[N Node](n N, avoid []N) bool {
	return n.Answers(false) && !slices.Contains(avoid, n)
}

// sortReplicas brings the replicas of each primary in an order that does not depend on the
// server which told of them: those that are near first.
func (t *Table[N]) sortReplicas(near map[N]bool) {
	t.near = make([]int, len(t.Replicas))
	for i, replicas := range t.Replicas {
		slices.SortFunc(replicas, func(a, b N) int {
			return cmp.Or(rankOf(near[b])-rankOf(near[a]), strings.Compare(a.Addr(), b.Addr()))
		})
		for t.near[i] < len(replicas) && near[replicas[t.near[i]]] {
			t.near[i]++
		}
	}
}

// Diff returns the addresses of the nodes that have joined and left, and how many slots have moved, from
// before to after. A nil table has no nodes.
func Diff[N Node](before, after *Table[N]) (joined, left []string, moved int) {
	if before == nil {
		before = NewTable[N](nil, nil)
	}
	was, is := before.All(), after.All()
	return addrsWithout(is, was), addrsWithout(was, is), otherOwners(before, after)
}

// otherOwners returns how many slots have another owner.
func otherOwners[N Node](before, after *Table[N]) (n int) {
	if before.Owner == after.Owner && slices.Equal(before.Nodes, after.Nodes) {
		return 0
	}
	for slot := range before.Owner {
		if before.addrOf(before.Owner[slot]) != after.addrOf(after.Owner[slot]) {
			n++
		}
	}
	return n
}

// addrOf returns the address of the i-th primary, "" for NoOwner.
func (t *Table[N]) addrOf(i uint16) string {
	if i == NoOwner {
		return ""
	}
	return t.Nodes[i].Addr()
}

// addrsWithout returns the sorted addresses of the nodes that are not among others.
func addrsWithout[N Node](nodes, others []N) []string {
	var addrs []string
	for _, n := range nodes {
		if !slices.ContainsFunc(others, func(o N) bool { return o.Addr() == n.Addr() }) {
			addrs = append(addrs, n.Addr())
		}
	}
	slices.Sort(addrs)
	return addrs
}
