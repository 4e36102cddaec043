package engine

import (
	"fmt"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/slots"
)

var errNoName = fmt.Errorf("a command without a name: it needs one: %w", redislanes.ErrNotSent)

// slotOf returns the slot that the command travels by: that of its keys, which
// must be the same for all but on a server without cluster mode, or noKey.
func (c *Client) slotOf(cmd command.Command) (int32, error) {
	slot, ok, err := slotOf(cmd)
	switch {
	case err != nil && c.current().Single:
		return 0, nil
	case err != nil:
		return 0, err
	case !ok:
		return slots.NoKey, nil
	}
	return int32(slot), nil
}

// keysSlot is slotOf for the keys that a radix action names.
func (c *Client) keysSlot(keys []string) (slot int32, err error) {
	slot = slots.NoKey
	for _, key := range keys {
		s := int32(slots.Of(key))
		if slot != slots.NoKey && s != slot && !c.current().Single {
			return 0, crossSlot("action", uint16(slot), uint16(s))
		}
		if slot == slots.NoKey {
			slot = s
		}
	}
	return slot, nil
}

// Append takes over buf, which is [Request.Buffer] with one command appended,
// to a request that this client will execute. It finds the command's slot, and
// whether it only reads and is slow. A command that cannot travel with others is
// refused with [cause.ErrNotPipelinable], WAIT and WAITAOF with
// [cause.ErrNoWrites], one with keys in different slots with
// [redislanes.ErrCrossSlot]; then the request stays as it was. For a command that is not
// known here, [Client.Exec] asks a server.
func (c *Client) Append(r *Request, buf []byte) error {
	cmd := command.Of(buf[min(len(r.arena), len(buf)):])
	slot, traits, err := c.judge(cmd)
	if err != nil {
		return err
	}
	r.Commit(buf, slot)
	r.Mark(r.Len()-1, traits)
	if !cmd.Known() {
		r.unknown = true
		r.marks[r.Len()-1] |= markUnknown
	}
	return nil
}

// judge returns how a command travels in a request.
func (c *Client) judge(cmd command.Command) (slot int32, t command.Traits, err error) {
	if !cmd.Known() && cmd.Name() == "" {
		return 0, 0, errNoName
	}
	if t = c.cfg.Slow.apply(cmd); t.Way() != command.Shared {
		if cmd.Effect() == command.Awaits {
			return 0, t, cause.ErrNoWrites
		}
		return 0, t, cause.ErrNotPipelinable
	}
	slot, err = c.slotOf(cmd)
	return slot, t, err
}

// slotOf returns the slot of all keys of the command; ok is false if it has none.
// Where the keys are follows the key specifications of the command (COMMAND INFO)
// up to Redis 8 and Valkey 9; shard channels count as keys. Of a command that is not
// known, of a module for example, the first argument is taken for its only key. The
// error wraps ErrCrossSlot. A command with too few or malformed arguments has no
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
