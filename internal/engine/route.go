package engine

import (
	"fmt"
	"slices"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// hasSlots reports whether the keys of a command must be in one slot: not on a server without cluster
// mode, and not before the first map.
func (c *Client) hasSlots() bool {
	t := c.current()
	return t.Map != nil && !t.Single
}

// Append takes over buf, which is [Request.Buffer] with one command appended,
// to a request that this client will execute. It finds the command's slot, and
// whether it only reads and is slow. A command that cannot travel with others is
// refused with [cause.ErrNotPipelinable], WAIT and WAITAOF with
// [cause.ErrNoWrites], CLIENT REPLY and the like with [cause.ErrUnanswered], one
// with keys in different slots with [redislanes.ErrCrossSlot]; then the request stays as it was.
func (c *Client) Append(r *Request, buf []byte) error {
	cmd := command.Of(buf[min(len(r.arena), len(buf)):])
	if err := wire.CheckName(cmd); err != nil {
		return err
	}
	traits := c.cfg.Slow.apply(cmd)
	if traits.Way() != command.Shared {
		return wire.NotShared(cmd, cause.ErrNotPipelinable)
	}
	slot, err := slotOf(cmd)
	if err != nil && c.hasSlots() {
		return err
	}
	r.Commit(buf, slot)
	r.judge(r.Len()-1, traits)
	r.several = r.several || err != nil // Exec looks again
	return nil
}

// AppendTogether makes commands the commands of an empty request. buf is [Request.Buffer] with them
// appended, and each ends at one of the places. All travel for one slot: that of their keys, or
// otherwise if none has a key. own says that they need a connection for themselves.
func (c *Client) AppendTogether(r *Request, buf []byte, ends []int, otherwise int32, own bool, how How) error {
	slot, from := int32(slots.NoKey), 0
	t := c.topology.Load()
	must := how.At.node == nil && t.Map != nil && !t.Single
	for i, to := range ends {
		cmd := command.Of(buf[from:to])
		s, err := slotOf(cmd)
		switch {
		case err != nil && must:
			return err
		case must && s >= 0 && slot >= 0 && s != slot:
			return crossSlot(cmd.Name(), slot, s)
		}
		slot = max(slot, s)
		r.add(buf, from, to, slots.NoKey)
		r.judge(i, c.cfg.Slow.apply(cmd))
		from = to
	}
	if slot == slots.NoKey {
		slot = otherwise
	}
	for i := range r.slots {
		r.slots[i] = slot
	}
	if r.own = own; own && len(ends) > 1 {
		r.joinParts()
	}
	return nil
}

// joinParts makes all commands one.
func (r *Request) joinParts() {
	slot, may := r.slots[0], Mark(0)
	for _, m := range r.marks {
		may |= m & markMayWrite
	}
	r.parts = append(r.parts, r.bounds...)
	r.bounds, r.slots, r.marks = r.bounds[:0], r.slots[:0], r.marks[:0]
	r.add(r.arena, 0, len(r.arena), slot)
	r.marks[0] = may
}

// KeysSlot returns the slot of the keys that an action names; slots.NoKey if it names none.
func (c *Client) KeysSlot(keys []string) (slot int32, err error) {
	slot = slots.NoKey
	must := c.hasSlots()
	for _, key := range keys {
		s := int32(slots.Of(key))
		if slot >= 0 && s != slot && must {
			return 0, crossSlot("action", slot, s)
		}
		slot = max(slot, s)
	}
	return slot, nil
}

// checkSlots returns the error of the first command with keys in several slots, if they must not be:
// a command may have been appended before the first map.
func (c *Client) checkSlots(r *Request) error {
	for i := range r.bounds {
		if _, err := slotOf(command.Of(r.command(i))); err != nil && c.hasSlots() {
			return wire.Named(commandName(r.command(i)), "", err)
		}
	}
	return nil
}

// joinSlots gives all commands that have keys the same slot: one of them has keys in several, and they
// must keep their order.
func (r *Request) joinSlots() {
	for i, slot := range r.slots {
		r.slots[i] = min(slot, 0) // NoKey stays
	}
}

// slotOf returns the slot of all keys of the command, slots.NoKey if it has none. Shard channels count
// as keys. A command that is not in the table has its first argument as its only key. The error wraps
// ErrCrossSlot. A command with too few or malformed arguments has no slot, or that of the keys that can be
// told: the server then says what is wrong.
func slotOf(c command.Command) (slot int32, err error) {
	slot = slots.NoKey
	for keys := c.Keys(); ; {
		key, more := keys.Next()
		if !more {
			return slot, nil
		}
		s := int32(slots.OfBytes(key))
		if slot >= 0 && s != slot {
			return 0, crossSlot(c.Name(), slot, s)
		}
		slot = s
	}
}

func crossSlot(name string, a, b int32) error {
	why := fmt.Errorf("%w, %d and %d: give them a common {hash tag}, or send a command for each slot", redislanes.ErrCrossSlot, a, b)
	return &redislanes.Error{Command: name, Outcome: redislanes.ErrNotSent, Cause: why}
}

// apply returns the traits of the command with these settings.
func (o Overrides) apply(c command.Command) command.Traits {
	t := c.Traits()
	if len(o) == 0 {
		return t
	}
	switch slow, set := o[c.Name()]; {
	case !set:
		return t
	case slow:
		return t | command.Slow
	}
	return t &^ command.Slow
}

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
		if t.pool == p && t.Alone == alone && (!how.BySlot && !alone || t.Key == slot) {
			if t.Key < 0 {
				t.Key = slot
			}
			return t
		}
	}
	t := e.trip(p, r.arena)
	t.Alone = alone
	t.Key = slot
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
