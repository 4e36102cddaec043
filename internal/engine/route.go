package engine

import (
	"fmt"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
)

var errNoName = fmt.Errorf("it needs one: %w", redislanes.ErrNotSent)

// noKey is the slot of a command without a key.
const noKey = -1

// slotOf returns the slot that the command travels by: that of its keys, which
// must be the same for all but on a server without cluster mode, or noKey.
func (c *Client) slotOf(cmd command.Command) (int32, error) {
	slot, ok, err := slotOf(cmd)
	switch {
	case err != nil && c.current().single:
		return 0, nil
	case err != nil:
		return 0, err
	case !ok:
		return noKey, nil
	}
	return int32(slot), nil
}

// keysSlot is slotOf for the keys that a radix action names.
func (c *Client) keysSlot(keys []string) (slot int32, err error) {
	slot = noKey
	for _, key := range keys {
		s := int32(Slot(key))
		if slot != noKey && s != slot && !c.current().single {
			return 0, crossSlot("action", uint16(slot), uint16(s))
		}
		if slot == noKey {
			slot = s
		}
	}
	return slot, nil
}

// Append takes over buf, which is [Request.Buffer] with one command appended,
// to a request that this client will execute. It finds the command's slot, and
// whether it only reads and is slow. A command that cannot travel with others is
// refused with [redislanes.ErrNotPipelinable], WAIT and WAITAOF with
// [redislanes.ErrNoWrites], one with keys in different slots with
// [redislanes.ErrCrossSlot]; then the request stays as it was. For a command that is not
// known here, [Client.Exec] asks a server.
func (c *Client) Append(r *Request, buf []byte) error {
	cmd := command.Of(buf[min(len(r.arena), len(buf)):])
	slot, traits, err := c.judge(cmd)
	if err != nil {
		return err
	}
	r.CommitKnown(buf, slot)
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
			return 0, t, redislanes.ErrNoWrites
		}
		return 0, t, redislanes.ErrNotPipelinable
	}
	slot, err = c.slotOf(cmd)
	return slot, t, err
}
