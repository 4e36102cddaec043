package engine

import (
	"bytes"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

// keepOrder sees to it that the commands of a slot take effect in their order: a
// command behind which a later one of its slot has run stands, since it would
// undo what that one did, and the caller was told (a SET k 1 that was refused with
// LOADING was sent again behind SET k 2). Reads undo nothing of each other: one
// stands only if a write has run behind it. For ASK this is so only if they share a
// key: the others are where the slot comes from.
//
// An EXPIRE behind its command is no such later one. It goes again with the
// command, or the key might live for ever; to set the same time to live twice
// does no harm.
func (x *retry) keepOrder(commands []int) {
	someAgain, someRan := false, false
	for _, s := range x.steps {
		someAgain, someRan = someAgain || s.again(), someRan || s == ran
	}
	if !someAgain || !someRan {
		return
	}
	all, writes := newLater(), newLater()
	for k := len(commands) - 1; k >= 0; k-- {
		i := commands[k]
		s, marks := x.steps[k], x.request.marks[i]
		behind := all
		if marks&markReads != 0 {
			behind = writes
		}
		switch {
		case x.request.slots[i] < 0:
			continue
		case s == toAsk && behind.sharesKey(x.request, i), s.again() && s != toAsk && behind.slots[x.request.slots[i]]:
			x.attempts[i].overtaken = true
			s = x.attempts[i].final()
			x.steps[k] = s
		case s.again():
			x.repeatExpiries(commands[k:], x.steps[k:])
			x.repeatAhead(commands, k)
		}
		if s == ran && marks&markExpiry == 0 {
			all.add(x.request, i)
			if marks&markReads == 0 {
				writes.add(x.request, i)
			}
		}
	}
}

// later is the slots and keys of commands that have run.
type later struct {
	slots map[int32]bool
	keys  map[string]bool
}

func newLater() later { return later{make(map[int32]bool), make(map[string]bool)} }

func (l later) add(r *Request, i int) {
	l.slots[r.slots[i]] = true
	eachKey(r.command(i), func(key string) { l.keys[key] = true })
}

// sharesKey tells whether one of them has a key of the i-th command.
func (l later) sharesKey(r *Request, i int) (found bool) {
	eachKey(r.command(i), func(key string) { found = found || l.keys[key] })
	return found
}

// repeatExpiries repeats what has run of the EXPIREs behind the first command.
func (x *retry) repeatExpiries(commands []int, steps []step) {
	for k := 1; k < len(commands) && commands[k] == commands[k-1]+1 && x.request.marks[commands[k]]&markExpiry != 0; k++ {
		if steps[k] == ran {
			steps[k], x.attempts[commands[k]].why = toRepeat, wasEarly
			x.doubtEarly(commands[k])
		}
	}
}

// doubtEarly notes that the command, which is repeated, has run.
func (x *retry) doubtEarly(i int) {
	if reply, _, err := x.request.lastTry(i); err == nil && !resp.IsError(reply) {
		x.doubt(i, errEarly)
	}
}

// repeatAhead repeats a [Request.Ahead] with the k-th of the commands, in front of it.
func (x *retry) repeatAhead(commands []int, k int) {
	if k == 0 || commands[k-1]+1 != commands[k] || x.request.marks[commands[k-1]]&markAhead == 0 {
		return
	}
	ahead, of := &x.attempts[commands[k-1]], &x.attempts[commands[k]]
	if x.steps[k-1] == ran {
		x.doubtEarly(commands[k-1])
	}
	x.steps[k-1], ahead.why, ahead.to, ahead.trouble, ahead.hops = x.steps[k], of.why, of.to, of.trouble, of.hops
}

// eachKey calls f with the keys of an encoded command.
func eachKey(encoded []byte, f func(key string)) {
	keys := command.Of(encoded).Keys()
	for key, ok := keys.Next(); ok; key, ok = keys.Next() {
		f(string(key))
	}
}

// setsExpiry tells whether the command only sets the time to live of the key of
// the one before it.
func setsExpiry(command, before []byte) bool {
	name, ok := resp.Argument(command, 0)
	if !ok || len(name) < len("EXPIRE") || len(name) > len("PEXPIREAT") {
		return false
	}
	if c := name[0] | 0x20; c != 'e' && c != 'p' || !isExpire(name) {
		return false
	}
	key, ok := resp.Argument(command, 1)
	other, also := resp.Argument(before, 1)
	return ok && also && bytes.Equal(key, other)
}

// isExpire tells EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT, in any case.
func isExpire(name []byte) bool {
	if name[0]|0x20 == 'p' {
		name = name[1:]
	}
	const at = 2
	return bytes.EqualFold(name, []byte("EXPIRE")) || len(name) == len("EXPIRE")+at && bytes.EqualFold(name, []byte("EXPIREAT"))
}
