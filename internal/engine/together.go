package engine

import (
	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// AppendTogether makes commands the commands of an empty request. buf is [Request.Buffer] with them
// appended, and each ends at one of the places. All travel for one slot: that of their keys, or
// otherwise if none has a key. own says that they need a connection for themselves. AppendTogether
// returns how the request is to be sent: commands that may write do not go to replicas.
func (c *Client) AppendTogether(r *Request, buf []byte, ends []int, otherwise int32, own bool, how How) (How, error) {
	slot, from := int32(slots.NoKey), 0
	must := how.At.node == nil && c.hasSlots()
	for i, to := range ends {
		cmd := command.Of(buf[from:to])
		s, keyed, err := slotOf(cmd)
		switch {
		case err != nil && must:
			return how, err
		case keyed && must && slot != slots.NoKey && int32(s) != slot:
			return how, crossSlot(cmd.Name(), uint16(slot), s)
		case keyed:
			slot = int32(s)
		}
		how.Replicas = how.Replicas && !isWrite(cmd)
		r.add(from, to, slots.NoKey)
		r.arena = buf
		r.Mark(i, c.cfg.Slow.apply(cmd))
		from = to
	}
	if slot == slots.NoKey {
		slot = otherwise
	}
	for i := range r.slots {
		r.slots[i] = slot
	}
	if r.own = own; own && len(ends) > 1 {
		r.joinParts()
	}
	return how, nil
}

// joinParts makes all commands one.
func (r *Request) joinParts() {
	slot := r.slots[0]
	r.parts = append(r.parts, r.bounds...)
	r.bounds, r.slots, r.marks = r.bounds[:0], r.slots[:0], r.marks[:0]
	r.add(0, len(r.arena), slot)
}

// Probes says of the commands that they find out whether the server knows a script: NOSCRIPT is no
// failure.
func (r *Request) Probes() { r.probes = true }

// Join appends the replies to buf, also those that are errors. The error is what became of the first
// command that has none, or of the only command if the server refused it. refused is the number of the
// first reply that is a refusal; -1: none is.
func (r *Request) Join(buf []byte) (replies []byte, refused int, err error) {
	refused = -1
	number := 0
	add := func(reply []byte) {
		if refused < 0 && wire.IsRefusal(reply) {
			refused = number
		}
		number++
		buf = append(buf, reply...)
	}
	only := false
	for i := range r.bounds {
		reply, err := r.outcome(i)
		if err != nil {
			return buf, -1, r.failed(i, r.Node(i), err)
		}
		only = len(r.bounds) == 1 && wire.IsRefusal(reply)
		p := r.places[i]
		for k := range r.parts {
			part, _ := p.trip.Reply(p.pos + k)
			add(part)
		}
		if len(r.parts) == 0 {
			add(reply)
		}
	}
	if only {
		return buf, refused, r.ErrorAt(refused, nil)
	}
	return buf, refused, nil
}

// ErrorAt returns the error of the command with that reply: that of the reply if it is an error, else
// err.
func (r *Request) ErrorAt(number int, err error) *redislanes.Error {
	i, encoded := number, []byte(nil)
	if len(r.parts) > 0 {
		i, encoded = 0, r.arena[r.parts[number].from:r.parts[number].to]
	} else {
		encoded = r.command(number)
	}
	p := r.places[i]
	if reply, _ := p.trip.Reply(p.pos + number - i); resp.IsError(reply) {
		err = wire.ReplyError(reply)
	}
	failed := r.failed(i, r.Node(i), err)
	failed.Command = commandName(encoded)
	return failed
}

// KeysSlot returns the slot of the keys that an action names; slots.NoKey if it names none.
func (c *Client) KeysSlot(keys []string) (slot int32, err error) {
	slot = slots.NoKey
	must := c.hasSlots()
	for _, key := range keys {
		s := int32(slots.Of(key))
		if slot != slots.NoKey && s != slot && must {
			return 0, crossSlot("action", uint16(slot), uint16(s))
		}
		if slot == slots.NoKey {
			slot = s
		}
	}
	return slot, nil
}
