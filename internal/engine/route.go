package engine

import (
	"fmt"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// hasSlots reports whether the keys of a command must be in one slot: not on a server without cluster
// mode, and not before the first map.
func (c *Client) hasSlots() bool {
	t := c.current()
	return t.Map != nil && !t.Single
}

// slotOf returns the slot that the command travels by: that of its keys, or slots.NoKey. Keys in several
// slots are an error, unless there are no slots.
func (c *Client) slotOf(cmd command.Command) (slot int32, several bool, err error) {
	s, ok, err := slotOf(cmd)
	switch {
	case err != nil:
		if !c.hasSlots() {
			err = nil
		}
		return 0, true, err
	case !ok:
		return slots.NoKey, false, nil
	}
	return int32(s), false, nil
}

// Append takes over buf, which is [Request.Buffer] with one command appended,
// to a request that this client will execute. It finds the command's slot, and
// whether it only reads and is slow. A command that cannot travel with others is
// refused with [cause.ErrNotPipelinable], WAIT and WAITAOF with
// [cause.ErrNoWrites], CLIENT REPLY and the like with [cause.ErrUnanswered], one
// with keys in different slots with [redislanes.ErrCrossSlot]; then the request stays as it was.
func (c *Client) Append(r *Request, buf []byte) error {
	cmd := command.Of(buf[min(len(r.arena), len(buf)):])
	slot, several, traits, err := c.judge(cmd)
	if err != nil {
		return err
	}
	r.Commit(buf, slot)
	r.Mark(r.Len()-1, traits)
	r.several = r.several || several // Exec looks again
	return nil
}

// checkSlots returns the error of the first command with keys in several slots, if they must not be:
// a command may have been appended before the first map.
func (c *Client) checkSlots(r *Request) error {
	for i := range r.bounds {
		if _, _, err := c.slotOf(command.Of(r.command(i))); err != nil {
			return wire.Named(commandName(r.command(i)), "", err)
		}
	}
	return nil
}

// judge returns how a command travels in a request.
func (c *Client) judge(cmd command.Command) (slot int32, several bool, t command.Traits, err error) {
	if err := wire.CheckName(cmd); err != nil {
		return 0, false, 0, err
	}
	if t = c.cfg.Slow.apply(cmd); t.Way() != command.Shared {
		return 0, false, t, wire.NotShared(cmd, cause.ErrNotPipelinable)
	}
	slot, several, err = c.slotOf(cmd)
	return slot, several, t, err
}

// joinSlots gives all commands that have keys the same slot: one of them has keys in several, and they
// must keep their order.
func (r *Request) joinSlots() {
	for i, slot := range r.slots {
		r.slots[i] = min(slot, 0) // NoKey stays
	}
}

// slotOf returns the slot of all keys of the command; ok is false if it has none.
// Shard channels count as keys. Of a command that is not in the table, the first argument is taken for
// its only key. The error wraps ErrCrossSlot. A command with too few or malformed arguments has no
// slot, or that of the keys that can be told: the server then says what is wrong.
func slotOf(c command.Command) (slot uint16, ok bool, err error) {
	for keys := c.Keys(); ; {
		key, more := keys.Next()
		if !more {
			return slot, ok, nil
		}
		s := slots.OfBytes(key)
		if ok && s != slot {
			return 0, false, crossSlot(c.Name(), slot, s)
		}
		slot, ok = s, true
	}
}

func crossSlot(name string, a, b uint16) error {
	why := fmt.Errorf("%w, %d and %d: give them a common {hash tag}, or send a command for each slot", redislanes.ErrCrossSlot, a, b)
	return &redislanes.Error{Command: name, Outcome: redislanes.ErrNotSent, Cause: why}
}
