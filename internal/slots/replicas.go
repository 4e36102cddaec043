package slots

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/health"
)

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
