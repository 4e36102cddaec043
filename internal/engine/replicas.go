package engine

import (
	"slices"

	"github.com/redislanes/redislanes/internal/nodepool"
)

// With How.Replicas, a command that only reads goes to the replica of its slot. If another command is for
// the slot, all commands of the request for that slot go to the primary: behind a read that a replica
// has answered, a write would be too late. Scripts may write, and PUBLISH at a replica reaches only its
// own subscribers, so they go to the primary, too. Commands about their server, such as CONFIG SET
// and SCRIPT LOAD, stay with those that read without a key.

// poolFor returns the pool of the node that commands for the slot go to, and the node if
// it is a replica, which is none of those to avoid. The slot has an owner, or is -1.
func poolFor(t *topology, slot int32, how How, avoid []*node) (p *nodepool.Node, replica *node) {
	if how.Replicas {
		if n := t.Replica(slot, avoid); n != nil {
			return n.pool(asReplica), n
		}
	}
	return t.Primary(slot).pool(asPrimary), nil
}

// placeOnReplicas is place with How.Replicas. Slots of one primary may have different replicas.
func (e *execution) placeOnReplicas(t *topology, r *Request, how How) []*trip {
	r.noteWritten()
	first := e.used
	for i, slot := range r.slots {
		if t.Primary(slot) == nil {
			r.places[i].err = t.Map.NoOwnerError(slot)
			continue
		}
		to := how
		to.Replicas = !r.writesTo(slot)
		p, replica := poolFor(t, slot, to, nil)
		tr := e.tripTo(p, r, i, first, how, false)
		tr.replica = replica
		r.addTo(tr, i)
	}
	return e.trips[first:e.used]
}

// tripTo returns the trip of this attempt, which are those from first on, that the i-th command
// may join. Commands that go alone join those of their slot only.
func (e *execution) tripTo(p *nodepool.Node, r *Request, i, first int, how How, alone bool) *trip {
	slot := int64(r.slots[i])
	for _, t := range e.trips[first:e.used] {
		if t.pool == p && t.Alone() == alone && (!how.BySlot && !alone || t.Key() == slot) {
			if t.Key() < 0 {
				t.SetKey(slot)
			}
			return t
		}
	}
	t := e.trip(p, r.arena)
	t.SetAlone(alone)
	t.SetKey(slot)
	return t
}

// noteWritten notes the slots of commands that may do more than read; NoKey is one of them.
func (r *Request) noteWritten() {
	for i, slot := range r.slots {
		if m := r.marks[i]; m&Reads == 0 && (slot >= 0 || m&markMayWrite != 0) {
			r.written = append(r.written, slot)
		}
	}
	slices.Sort(r.written)
	r.written = slices.Compact(r.written)
}

// writesTo tells whether a command of the request may do more than read from the slot.
func (r *Request) writesTo(slot int32) bool {
	_, writes := slices.BinarySearch(r.written, slot)
	return writes
}
