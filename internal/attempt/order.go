package attempt

import (
	"bytes"
	"slices"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

// A Command is what [Order] has to know of a command after its try.
type Command struct {
	Index   int    // its place in the request
	Encoded []byte // its keys are looked at for Ask
	Slot    int32  // below 0: it has no key, and no order
	Reads   bool   // it only reads
	Expiry  bool   // it only sets the time to live of a key, that of the command directly before it
	Ahead   bool   // it goes again in front of the command directly behind it, and may run twice
	Unknown bool   // it may have run in an earlier try

	Step Step // what happens next by its own reply; Order changes it

	// What Order has decided.
	Overtaken bool // it is not sent again, since a later command of its slot has run
	Early     bool // it ran before the command on its key did, and is sent again behind it
	Along     bool // it had not run, and is sent again only because the command on its key is
	Leads     bool // it is sent again in front of the command behind it, wherever that goes
}

// Order makes the commands of each slot take effect in their order or not at all. They have
// travelled together and are in the order of their request.
//
//   - A command is not sent again once a later command of its slot has run: it would undo that
//     one, and the caller has its reply. A read is stopped only by a write. After ASK only
//     commands that share a key stop each other: the other keys are where the slot comes from.
//   - A write and the EXPIRE directly behind it are a unit ([SetsExpiry]). If the write is sent
//     again, so is its EXPIRE, also one that has run: otherwise the key might live forever, and to
//     set the same time to live twice does no harm. If the write has not run and is not sent again,
//     its EXPIRE is not sent again. An EXPIRE of a unit stops no other command.
//   - A command that goes ahead is sent again whenever the command behind it is.
func Order(all []Command) {
	if !slices.ContainsFunc(all, func(c Command) bool { return c.Step.Again() }) {
		return
	}
	ran, wrote := newLater(), newLater()
	for end := len(all); end > 0; {
		first := end - 1
		for first > 0 && all[first].Expiry && all[first].Index == all[first-1].Index+1 {
			first--
		}
		head, expiries := &all[first], all[first+1:end]
		end = first
		if !head.Leads {
			head.stopBehind(ran, wrote)
		}
		if head.Step.Again() && first > 0 && all[first-1].Ahead && all[first-1].Index == head.Index-1 {
			ahead := &all[first-1]
			ahead.Leads, ahead.Early, ahead.Step = true, ahead.Step == Ran, head.Step
		}
		for k := range expiries {
			expiries[k].joins(head, ran, wrote)
		}
		if head.Step == Ran && !head.Expiry {
			ran.add(head)
			if !head.Reads {
				wrote.add(head)
			}
		}
	}
}

// joins decides for an EXPIRE by what becomes of the command on its key.
func (c *Command) joins(head *Command, ran, wrote later) {
	switch {
	case head.Step.Again() && !c.Step.Again():
		c.Early, c.Along = c.Step == Ran, c.Step == Stands
		c.Step = head.Step
	case head.Step == Stands && c.Step.Again():
		c.Overtaken = head.Overtaken
		c.stop()
	case !head.Step.Again():
		c.stopBehind(ran, wrote)
	}
}

// stopBehind stops the command if a later one has run.
func (c *Command) stopBehind(ran, wrote later) {
	behind := ran
	if c.Reads {
		behind = wrote
	}
	switch {
	case c.Slot < 0 || !c.Step.Again():
	case c.Step == Ask && behind.sharesKey(c), c.Step != Ask && behind.slots[c.Slot]:
		c.Overtaken = true
		c.stop()
	}
}

func (c *Command) stop() {
	if c.Step = Stands; c.Unknown {
		c.Step = Ran
	}
}

// later is the slots and keys of commands that have run.
type later struct {
	slots map[int32]bool
	keys  map[string]bool
}

func newLater() later { return later{make(map[int32]bool), make(map[string]bool)} }

func (l later) add(c *Command) {
	l.slots[c.Slot] = true
	EachKey(c.Encoded, func(key string) { l.keys[key] = true })
}

// sharesKey tells whether one of them has a key of the command.
func (l later) sharesKey(c *Command) (found bool) {
	EachKey(c.Encoded, func(key string) { found = found || l.keys[key] })
	return found
}

// EachKey calls f with the keys of an encoded command.
func EachKey(encoded []byte, f func(key string)) {
	keys := command.Of(encoded).Keys()
	for key, ok := keys.Next(); ok; key, ok = keys.Next() {
		f(string(key))
	}
}

// SetsExpiry reports whether the command only sets the time to live of the one key that the command
// before it writes to. EXPIREAT does not count, since it may delete the key. Nor does EXPIRE with a time
// of 0 or less, which deletes it.
func SetsExpiry(encoded, before []byte) bool {
	name, ok := resp.Argument(encoded, 0)
	if !ok || !isExpire(name) {
		return false
	}
	end, ok := resp.Argument(encoded, 2)
	if !ok || len(end) == 0 || end[0] < '1' || '9' < end[0] {
		return false
	}
	cmd := command.Of(before)
	if !cmd.Known() || cmd.Traits()&(command.ReadOnly|command.MayWrite) != 0 {
		return false
	}
	own, _ := resp.Argument(encoded, 1)
	keys := cmd.Keys()
	key, ok := keys.Next()
	_, several := keys.Next()
	return ok && !several && bytes.Equal(key, own)
}

// isExpire tells EXPIRE and PEXPIRE, in any case.
func isExpire(name []byte) bool {
	if len(name) == len("PEXPIRE") && name[0]|0x20 == 'p' {
		name = name[1:]
	}
	return len(name) == len("EXPIRE") && bytes.EqualFold(name, []byte("EXPIRE"))
}
