package cluster

import (
	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

// CommandSlot returns the slot of all keys of a command; ok is false if it has
// no key. The name may be in any case; args are the arguments after the name,
// so that a subcommand is args[0]. Where the keys are follows the key
// specifications of the command (COMMAND INFO) up to Redis 8 and Valkey 9; shard
// channels count as keys. Of a command that is not known, of a module for
// example, the first argument is taken for its only key.
//
// The error is a *CrossSlotError. A command with too few or malformed
// arguments gives ok false or the slot of the keys that can be told: the
// server then says what is wrong.
//
// CommandSlot does not ask a server, does not allocate for a command of less
// than 256 bytes unless it returns an error, and is safe for concurrent use.
func CommandSlot(name string, args []string) (slot uint16, ok bool, err error) {
	var buf [inPlace]byte
	return slotOf(command.Of(resp.AppendCommand(buf[:0], name, args...)))
}

// inPlace is the size of encoded commands that are looked at on the stack.
const inPlace = 256

// slotOf returns the slot of all keys of the command; ok is false if it has none.
func slotOf(c command.Command) (slot uint16, ok bool, err error) {
	for keys := c.Keys(); ; {
		key, more := keys.Next()
		if !more {
			return slot, ok, nil
		}
		s := SlotBytes(key)
		if ok && s != slot {
			return 0, false, crossSlot(c.Name(), slot, s)
		}
		slot, ok = s, true
	}
}

func crossSlot(name string, a, b uint16) error {
	return &redislanes.CrossSlotError{Command: name, Slots: [2]uint16{a, b}}
}

// Traits tell how a command may travel.
type Traits = command.Traits

// What a command may be.
const (
	// ReadOnly commands only read, so that repeating one is safe.
	ReadOnly = command.ReadOnly
	// Blocking commands may hold up their connection until data arrives or
	// their own timeout ends.
	Blocking = command.Blocking
	// Stateful commands change the state of the connection that they are
	// sent over, or have replies that are not one per command, and so must
	// not be sent over a shared connection.
	Stateful = command.Stateful
	// Slow commands may keep the server or the connection busy for long, so
	// that they have lanes of their own in a laned pool.
	Slow = command.Slow
)

// CommandTraits returns the traits of a command, whose name may be in any
// case; args are the arguments after the name. A command that is not known has
// no traits: it is taken for one that writes. Slow are the [SlowCommands]. It
// allocates as little as [CommandSlot], and is safe for concurrent use.
func CommandTraits(name string, args []string) Traits {
	var buf [inPlace]byte
	return command.Of(resp.AppendCommand(buf[:0], name, args...)).Traits()
}
