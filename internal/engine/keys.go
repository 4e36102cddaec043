package engine

import (
	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/slots"
)

// slotOf returns the slot of all keys of the command; ok is false if it has none.
// Where the keys are follows the key specifications of the command (COMMAND INFO)
// up to Redis 8 and Valkey 9; shard channels count as keys. Of a command that is not
// known, of a module for example, the first argument is taken for its only key. The
// error is a CrossSlotError. A command with too few or malformed arguments has no
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
	return &redislanes.CrossSlotError{Command: name, Slots: [2]uint16{a, b}}
}
