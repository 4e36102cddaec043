package command

import "strings"

const (
	// manyKeys is how many keys a command such as MGET may have and still count as fast.
	manyKeys = 100

	// maxName is at least the length of the name of any command, with that of its subcommand.
	maxName = 40
)

// Traits tell how a command may travel.
type Traits uint8

const (
	// ReadOnly commands only read, so that repeating one is safe.
	ReadOnly Traits = 1 << iota
	// Blocking commands may hold up their connection until data arrives or
	// their own timeout ends.
	Blocking
	// Stateful commands have an [Effect] on their connection, or are about what was
	// sent over it before, and so must not be sent over a shared one.
	Stateful
	// MayWrite commands write or only read, as the script does that they run; publishing
	// counts, too. A server that refuses writes runs them, so that one of them proves
	// nothing of writes. (The server's flag may_replicate.)
	MayWrite
	// Slow commands may keep the server or the connection busy for long, so
	// that they have lanes of their own in a laned pool.
	Slow
)

// A Way is how commands may travel.
type Way uint8

// The ways, in the order of what they ask of a connection.
const (
	Shared Way = iota // with the commands of others
	Alone             // it may block: over a connection that nobody else uses meanwhile
	Held              // it changes its connection, or is about it: only over one that its user holds
)

// Way returns how a command of these traits may travel, or several of which any
// has them.
func (t Traits) Way() Way {
	switch {
	case t&Stateful != 0:
		return Held
	case t&Blocking != 0:
		return Alone
	}
	return Shared
}

// An Effect is what a command does to the connection that it is sent over, or has to do
// with it.
type Effect uint8

// The effects.
const (
	NoEffect         Effect = iota
	OpensTransaction        // MULTI: what follows is queued
	EndsTransaction         // EXEC, DISCARD: and no key is watched any more
	Watches                 // WATCH
	Unwatches               // UNWATCH; queued inside a transaction
	Awaits                  // WAIT, WAITAOF: for the writes that were sent over it before
	Changes                 // SELECT, AUTH, READONLY, CLIENT SETNAME, ASKING, RESET, ...
	Unanswered              // SUBSCRIBE, MONITOR, REPLCONF, CLIENT REPLY, QUIT, ...: replies are not one for each command
)

// A Rule is what has to be known of a command: where its keys are and how it
// may travel. Rules are not changed once they are made.
type Rule struct {
	name string // in upper case; of a subcommand its own
	form
	slow        slowness
	effect      Effect
	subcommands []Rule // those that are listed; any other has the rule of its container
}

// A form is what the rows of the table are about.
type form struct {
	find finder
	// Places in the arguments after the name. A negative last counts from
	// the end, -1 being the last argument.
	first, last, step int8
	traits            Traits
}

// A finder is a rule that tells which arguments are keys.
type finder uint8

const (
	byNone       finder = iota // there are none
	byRange                    // first, first+step, ..., last
	byCount                    // the argument at first is their number; they follow it
	byCountStore               // the same, and the first argument is one more
	byStreams                  // XREAD, XREADGROUP
	bySortStore                // SORT
	byGeoStore                 // GEORADIUS, GEORADIUSBYMEMBER
)

// slowness says when a command is slow by default.
type slowness uint8

const (
	neverSlow slowness = iota
	alwaysSlow
	slowWithManyKeys
)

// unknown has its key where almost every command has it, and may write.
var unknown = Rule{form: form{find: byRange, step: 1, traits: MayWrite}}

// rules holds the commands of the rows.
var rules = makeTable()

func makeTable() *table {
	t := new(table)
	for _, row := range rows {
		for name := range strings.FieldsSeq(row.names) {
			container, sub, isSub := strings.Cut(name, "|")
			if isSub {
				c := t.find(container)
				c.subcommands = append(c.subcommands, Rule{name: sub, form: row.form})
			} else {
				t.add(&Rule{name: name, form: row.form})
			}
		}
	}
	for _, row := range slowRows {
		for name := range strings.FieldsSeq(row.names) {
			t.find(name).slow = row.slowness
		}
	}
	for _, row := range effectRows {
		for name := range strings.FieldsSeq(row.names) {
			container, sub, _ := strings.Cut(name, "|")
			r := subcommand(t.find(container), sub)
			r.effect = row.Effect
			r.traits |= Stateful
		}
	}
	return t
}

// A table is a hash table with open addressing. It exists because a map needs
// the name in upper case, which with the look-up itself takes three times as
// long.
type table [1 << tableBits]*Rule

const tableBits = 11 // a quarter of the places are in use

func (t *table) find(name string) *Rule { return find(t, name) }

// find returns nil if there is no such command.
func find[T text](t *table, name T) *Rule {
	if len(name) > maxName {
		return nil
	}
	for i := hashName(name); ; i = (i + 1) % uint32(len(t)) {
		if c := t[i]; c == nil || equalName(name, c.name) {
			return c
		}
	}
}

func (t *table) add(c *Rule) {
	i := hashName(c.name)
	for t[i] != nil {
		i = (i + 1) % uint32(len(t))
	}
	t[i] = c
}

type text interface{ ~string | ~[]byte }

// hashName hashes a name without regard to case.
func hashName[T text](name T) uint32 {
	h := uint32(0)
	for i := range len(name) {
		h = h*31 + uint32(name[i]|0x20)
	}
	return h * 0x9E3779B1 >> (32 - tableBits)
}

// equalName tells whether name is upper, which is in upper case. Names of
// commands are ASCII.
func equalName[T text](name T, upper string) bool {
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
