package cluster

import (
	"errors"
	"fmt"
	"strings"
)

// ErrCrossSlot is wrapped by the error for a command whose keys lie in more
// than one slot, which Redis Cluster refuses.
var ErrCrossSlot = errors.New("cluster: keys in different slots")

// A CrossSlotError tells which command has keys in more than one slot. It
// unwraps to ErrCrossSlot. Neither it nor its text holds a key.
type CrossSlotError struct {
	Command string    // the name in upper case
	Slots   [2]uint16 // of its first key, and of the first key elsewhere
}

// Error names the command and the two slots.
func (e *CrossSlotError) Error() string {
	return fmt.Sprintf("cluster: %s: keys in different slots, %d and %d", e.Command, e.Slots[0], e.Slots[1])
}

// Unwrap returns ErrCrossSlot.
func (e *CrossSlotError) Unwrap() error { return ErrCrossSlot }

// CommandSlot returns the slot of all keys of a command; ok is false if it has
// no key. The name may be in any case; args are the arguments after the name,
// so that a subcommand is args[0]. Where the keys are follows the key
// specifications of the command (COMMAND INFO) up to Redis 8; shard channels
// count as keys. Of a command that is not known, of a module for example, the
// first argument is taken for its only key.
//
// The error is a *CrossSlotError. A command with too few or malformed
// arguments gives ok false or the slot of the keys that can be told: the
// server then says what is wrong.
//
// CommandSlot does not ask a server, does not allocate unless it returns an
// error, and is safe for concurrent use.
func CommandSlot(name string, args []string) (slot uint16, ok bool, err error) {
	keys := lookup(name, args).keys(args)
	for i := keys.first; i < keys.end; i += keys.step {
		s := Slot(args[i])
		if ok && s != slot {
			return 0, false, crossSlot(name, slot, s)
		}
		slot, ok = s, true
	}
	if keys.extra >= 0 {
		s := Slot(args[keys.extra])
		if ok && s != slot {
			return 0, false, crossSlot(name, slot, s)
		}
		slot, ok = s, true
	}
	return slot, ok, nil
}

func crossSlot(name string, a, b uint16) error {
	return &CrossSlotError{Command: strings.ToUpper(name), Slots: [2]uint16{a, b}}
}

// Traits tell how a command may travel.
type Traits uint8

const (
	// ReadOnly commands only read, so that repeating one is safe.
	ReadOnly Traits = 1 << iota
	// Blocking commands may hold up their connection until data arrives or
	// their own timeout ends.
	Blocking
	// Stateful commands change the state of the connection that they are
	// sent over, or have replies that are not one per command, and so must
	// not be sent over a shared connection.
	Stateful
	// Slow commands may keep the server or the connection busy for long, so
	// that they have lanes of their own in a laned pool.
	Slow
)

// CommandTraits returns the traits of a command, whose name may be in any
// case; args are the arguments after the name. A command that is not known has
// no traits: it is taken for one that writes. Slow are the [SlowCommands]. It
// does not allocate and is safe for concurrent use.
func CommandTraits(name string, args []string) Traits {
	return lookup(name, args).traitsOf(args, len(args))
}

// traitsOf returns the traits with n arguments, of which args need to be given
// only for streams.
func (c *command) traitsOf(args []string, n int) Traits {
	t := c.traits
	if c.isSlow(n) {
		t |= Slow
	}
	if c.find == byStreams {
		if _, blocks := streamOptions(args); blocks {
			t |= Blocking
		}
	}
	return t
}

// maxName is at least the length of the name of any command.
const maxName = 40

// lookup finds the rule of a command, or of its subcommand if that has one of
// its own.
func lookup(name string, args []string) *command {
	c := commands.find(name)
	if c == nil {
		return &unknownCommand
	}
	if len(args) > 0 {
		for i := range c.subcommands {
			if sub := &c.subcommands[i]; equalName(args[0], sub.name) {
				return sub
			}
		}
	}
	return c
}

// A commandTable is a hash table with open addressing. It exists because a
// map needs the name in upper case, which with the look-up itself takes three
// times as long.
type commandTable [1 << commandTableBits]*command

const commandTableBits = 11 // a quarter of the places are in use

func (t *commandTable) find(name string) *command {
	if len(name) > maxName {
		return nil
	}
	for i := hashName(name); ; i = (i + 1) % uint32(len(t)) {
		if c := t[i]; c == nil || equalName(name, c.name) {
			return c
		}
	}
}

func (t *commandTable) add(c *command) {
	i := hashName(c.name)
	for t[i] != nil {
		i = (i + 1) % uint32(len(t))
	}
	t[i] = c
}

// hashName hashes a name without regard to case.
func hashName(name string) uint32 {
	h := uint32(0)
	for i := range len(name) {
		h = h*31 + uint32(name[i]|0x20)
	}
	return h * 0x9E3779B1 >> (32 - commandTableBits)
}

// equalName tells whether name is upper, which is in upper case. Names of
// commands are ASCII.
func equalName(name, upper string) bool {
	if len(name) != len(upper) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}

// A span says which arguments are keys: args[first], args[first+step], ... up
// to but not including end, and args[extra] unless extra is negative.
type span struct{ first, end, step, extra int }

var noKeys = span{step: 1, extra: -1}

// keys applies the command's rule to its arguments. The result only has
// indices that are in range.
func (c *command) keys(args []string) span {
	switch c.find {
	case byRange:
		end := int(c.last) + 1
		if c.last < 0 {
			end += len(args)
		}
		return span{int(c.first), min(end, len(args)), int(c.step), -1}
	case byCount:
		return countedKeys(args, int(c.first), int(c.step))
	case byCountStore:
		keys := countedKeys(args, int(c.first), int(c.step))
		if len(args) > 0 {
			keys.extra = 0
		}
		return keys
	case byStreams:
		return streamKeys(args)
	case bySortStore:
		return sortKeys(args)
	case byGeoStore:
		return geoKeys(args)
	case byMigrate:
		return migrateKeys(args)
	}
	return noKeys
}

// countedKeys reads the number of keys at args[at]; they come after it.
func countedKeys(args []string, at, step int) span {
	if at >= len(args) {
		return noKeys
	}
	n := 0
	for _, c := range []byte(args[at]) {
		if c < '0' || c > '9' || n > len(args) {
			return noKeys
		}
		n = n*10 + int(c-'0')
	}
	first := at + 1
	if n > len(args) || first+(n-1)*step >= len(args) {
		return noKeys // the server refuses more keys than arguments
	}
	return span{first, first + n*step, step, -1}
}

// streamOptions returns the index after STREAMS in the arguments of XREAD and
// XREADGROUP, or -1, and whether BLOCK is among the options before it.
func streamOptions(args []string) (after int, blocks bool) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case equalName(arg, "STREAMS"):
			return i + 1, blocks
		case equalName(arg, "BLOCK"):
			blocks = true
			i++
		case equalName(arg, "COUNT"), equalName(arg, "CLAIM"):
			i++
		case equalName(arg, "GROUP"):
			i += 2
		}
	}
	return -1, blocks
}

// streamKeys: after STREAMS there are as many IDs as keys.
func streamKeys(args []string) span {
	after, _ := streamOptions(args)
	if after < 0 {
		return noKeys
	}
	return span{after, after + (len(args)-after)/2, 1, -1}
}

// sortKeys: the key and the one after the last STORE.
func sortKeys(args []string) span {
	keys := span{0, min(1, len(args)), 1, -1}
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case equalName(arg, "STORE"):
			if i++; i < len(args) {
				keys.extra = i
			}
		case equalName(arg, "LIMIT"):
			i += 2
		case equalName(arg, "GET"), equalName(arg, "BY"):
			i++
		}
	}
	return keys
}

// geoKeys: the key and the one after the last STORE or STOREDIST. Options
// begin after "key member radius unit" at the earliest.
func geoKeys(args []string) span {
	keys := span{0, min(1, len(args)), 1, -1}
	for i := 4; i < len(args)-1; i++ {
		if equalName(args[i], "STORE") || equalName(args[i], "STOREDIST") {
			i++
			keys.extra = i
		}
	}
	return keys
}

// migrateKeys: "host port key ...", or KEYS with the keys at the end if the key
// is empty.
func migrateKeys(args []string) span {
	if len(args) < 3 {
		return noKeys
	}
	key := span{2, 3, 1, -1}
	if args[2] != "" {
		return key
	}
	for i := 5; i < len(args); i++ {
		switch arg := args[i]; {
		case equalName(arg, "KEYS"):
			return span{i + 1, len(args), 1, -1}
		case equalName(arg, "AUTH"):
			i++
		case equalName(arg, "AUTH2"):
			i += 2
		}
	}
	return key
}
