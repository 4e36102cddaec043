package redislanes

import (
	"errors"
	"fmt"
)

// ErrNotPipelinable refuses a command that cannot travel with others: one that
// may block its connection or changes its state (BLPOP, XREAD with BLOCK, MULTI,
// WATCH, SELECT, SUBSCRIBE, ...). Use Client.Do, with radix.WithConn for several. It
// wraps ErrNotSent.
var ErrNotPipelinable = fmt.Errorf("command cannot be pipelined, use Client.Do or radix.WithConn: %w", ErrNotSent)

// ErrCrossSlot is wrapped by the error for a command whose keys lie in more
// than one slot, which Redis Cluster refuses.
var ErrCrossSlot = errors.New("keys in different slots")

// A CrossSlotError tells which command has keys in more than one slot. It
// unwraps to ErrCrossSlot and, since the command was not sent, ErrNotSent.
// Neither it nor its text holds a key.
type CrossSlotError struct {
	Command string    // the name in upper case
	Slots   [2]uint16 // of its first key, and of the first key elsewhere
}

// Error names the command and the two slots.
func (e *CrossSlotError) Error() string {
	return fmt.Sprintf(prefix+"%s: keys in different slots, %d and %d", e.Command, e.Slots[0], e.Slots[1])
}

// Unwrap returns ErrCrossSlot and ErrNotSent.
func (e *CrossSlotError) Unwrap() []error { return []error{ErrCrossSlot, ErrNotSent} }
