package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Request is encoded commands for keys in any slots, and what became of
// them: the form in which commands travel through the package. The zero value
// is empty. It is not safe for concurrent use.
type Request struct {
	// The fields that are read once the replies have arrived come first. With many callers they have left
	// the processor's cache by then. Side by side, they cost few cache misses.
	execution *execution
	clean     bool
	probes    bool // see bridge.Probes
	several   bool // there is a command with keys in several slots
	places    []place
	histories []history // of each command, if some had to be sent again
	observed  observation

	own    bool    // the one command needs a connection for itself
	parts  []bound // of which the one command consists, if it is a transaction
	arena  []byte  // all commands, one behind the other
	bounds []bound
	slots  []int32 // of each command; -1 without a key
	marks  []Mark  // of each command
	every  Mark    // of all commands that are added

	scripts []script      // of commands that run one by its hash, in their order
	lastOf  map[int32]int // the last command of each of their slots

	written []int32 // slots that commands write to, sorted, each once; only with How.Replicas

	grouper slots.Grouper
	groups  []int32

	began time.Time // when the first command ended that had to be sent again
	took  time.Duration
}

type bound struct{ from, to int }

// A Mark is what is known of a command.
type Mark uint8

// The marks.
const (
	Repeatable Mark = 1 << iota // it may run twice: it is sent again even if its outcome is unknown
	Reads                       // it only reads; also Repeatable

	// Expiry: it only sets, or asks for, the time to live of the key of the command before it. If that one is
	// sent again, this one is sent again behind it. If that one has not run and is not sent again, this one is
	// not sent again.
	Expiry

	// Ahead: it is sent again in front of the command behind it, whenever that one is sent again. Both are
	// for the same key. Also Repeatable.
	Ahead

	markSlow
	markMayWrite
)

// A place is where a command's reply is.
type place struct {
	trip *trip
	pos  int   // the reply's number in the trip
	err  error // why there was no trip
}

// A trip is what goes to one node at once.
type trip struct {
	wire.Batch
	pool *nodepool.Node

	// For the observation, if somebody is told of the group.
	of                                   *Request        // nil: nobody is, or its end was told of
	observed                             context.Context // as the trace returned it
	attempt, groups, retried, redirected int32           // see redislanes.GroupStart

	replica *node // whose pool it is; nil: a primary's

	judged   bool  // a retry has decided about its commands
	commands []int // which ones, for a retry
}

// An execution is the trips of one request. It is used again for the next request,
// but for one that was abandoned: lanes may still hold its batches.
type execution struct {
	call      *wire.Call
	open      bool // not all trips are known to be complete
	abandoned bool
	trips     []*trip
	used      int // of trips, in all attempts so far
	settled   int // how many of the first trips are complete, and judged
	request   *Request
	observed  *observation // nil: nobody is told
	reclaimed int          // trips that are not among the used ones any more
	table     *topology    // by which the last attempt was sent
}

// Reset makes the Request empty. Replies got from it before are invalid.
func (r *Request) Reset() {
	if cap(r.arena) > wire.KeptBytes {
		*r = Request{execution: r.execution, every: r.every}
	}
	r.arena, r.bounds, r.slots, r.places = r.arena[:0], r.bounds[:0], r.slots[:0], r.places[:0]
	r.clean, r.histories, r.probes = false, nil, false
	r.own, r.parts = false, r.parts[:0]
	clear(r.scripts)
	r.scripts = r.scripts[:0]
	r.marks, r.several = r.marks[:0], false
	r.written = r.written[:0]
	if r.execution == nil || r.execution.abandoned {
		r.execution = newExecution()
	}
	r.execution.used, r.execution.settled, r.execution.reclaimed, r.execution.table = 0, 0, 0, nil
	r.execution.call.Begin(0)
}

// Format describes the Request by its number of commands for every verb: fmt would print the commands.
func (r *Request) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "engine.Request{%d commands}", r.Len())
}

// Len returns the number of commands.
func (r *Request) Len() int { return len(r.bounds) }

// Buffer returns the memory that the encoded commands are in. A command is
// appended to it and then made known with [Request.Commit].
func (r *Request) Buffer() []byte { return r.arena }

// Commit takes over buf, which is [Request.Buffer] with one command appended, for keys in the
// slot; slots.NoKey for a command without a key. It checks nothing: it is for the commands that
// package pipeline writes itself. A command of a program goes through [Client.Append], which
// refuses what cannot travel with others.
func (r *Request) Commit(buf []byte, slot int32) { r.add(buf, len(r.arena), len(buf), slot) }

// add adds the command in buf, which becomes the memory of all commands.
func (r *Request) add(buf []byte, from, to int, slot int32) {
	r.arena = buf
	r.bounds = append(r.bounds, bound{from, to})
	r.slots = append(r.slots, slot)
	r.marks = append(r.marks, r.every)
}

// Mark notes what is known of the i-th command.
func (r *Request) Mark(i int, m Mark) { r.marks[i] |= m }

// MarkExpiry marks the i-th command as [Expiry] if it only sets the time to live of the key of
// the command before it, which there is, see [attempt.SetsExpiry].
func (r *Request) MarkExpiry(i int) {
	if attempt.SetsExpiry(r.command(i), r.command(i-1)) {
		r.Mark(i, Expiry)
	}
}

// onlyReads reports whether the i-th command only reads.
func (r *Request) onlyReads(i int) bool { return r.marks[i]&Reads != 0 }

// judge marks the i-th command by its traits, and by the command before it.
func (r *Request) judge(i int, t command.Traits) {
	if t&command.ReadOnly != 0 {
		r.marks[i] |= Reads | Repeatable
	}
	if t&command.MayWrite != 0 {
		r.marks[i] |= markMayWrite
	}
	if t&command.Slow != 0 {
		r.marks[i] |= markSlow
	}
	if i > 0 {
		r.MarkExpiry(i)
	}
}

// SetSlow says of the i-th command whether it is slow. In laned pools that have
// lanes for slow commands, it travels on one of these, with all other commands for
// its node in the request.
func (r *Request) SetSlow(i int, slow bool) {
	r.marks[i] &^= markSlow
	if slow {
		r.marks[i] |= markSlow
	}
}

// Reply returns the i-th command's reply as it came, valid until Reset, after
// the Request was executed. The error is a [redislanes.Error]: for an error reply,
// and for a command without a reply.
func (r *Request) Reply(i int) ([]byte, error) {
	reply, err := r.outcome(i)
	switch {
	case err != nil:
		return nil, r.failed(i, r.Node(i), err)
	case resp.IsError(reply):
		return nil, r.failed(i, r.Node(i), wire.ReplyError(reply))
	}
	return reply, nil
}

// Raw returns the i-th command's reply as it came, also one that is an error, for
// receivers that take errors as values; nil if there is none.
func (r *Request) Raw(i int) []byte {
	reply, _ := r.outcome(i)
	return reply
}

// Undecodable returns an error of decoding the i-th command's reply as a
// [redislanes.Error], which names the command and its node.
func (r *Request) Undecodable(i int, err error) error {
	return wire.Named(commandName(r.command(i)), r.Node(i), err)
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

func commandName(command []byte) string { return strings.ToUpper(resp.CommandName(command)) }

var errNotExecuted = fmt.Errorf("the request was not executed: %w", redislanes.ErrNotSent)

// outcome returns the reply, also if it is an error, or why there is none. It is what became of
// the i-th command in all its tries.
func (r *Request) outcome(i int) (reply []byte, err error) {
	reply, err = r.lastTry(i)
	if r.histories != nil {
		reply, err = r.histories[i].outcome(reply, err)
	}
	return reply, err
}

// lastTry is outcome for the last try alone.
func (r *Request) lastTry(i int) (reply []byte, err error) {
	if len(r.places) == 0 {
		return nil, errNotExecuted
	}
	p := r.places[i]
	if p.trip == nil {
		return nil, p.err
	}
	if len(r.parts) > 0 {
		return r.transaction(p)
	}
	return p.trip.Reply(p.pos)
}

func (r *Request) command(i int) []byte {
	return r.arena[r.bounds[i].from:r.bounds[i].to]
}

// Trips returns how many groups of commands were sent, in all attempts.
func (r *Request) Trips() int {
	if r.execution == nil {
		return 0
	}
	return r.execution.used + r.execution.reclaimed
}

// Node returns the address of the node that the i-th command was sent to last, "" if there is
// none.
func (r *Request) Node(i int) string {
	if len(r.places) == 0 || r.places[i].trip == nil {
		return ""
	}
	return r.places[i].trip.pool.Address()
}

// newExecution makes an execution: the request has none yet, or lanes may still hold the old one.
func newExecution() *execution {
	e := &execution{call: wire.NewCall()}
	e.call.Begin(0)
	return e
}

// trip returns an empty trip to the pool.
func (e *execution) trip(p *nodepool.Node, arena []byte) *trip {
	if e.used == len(e.trips) {
		e.trips = append(e.trips, new(trip))
	}
	t := e.trips[e.used]
	e.used++
	t.pool, t.of, t.replica = p, nil, nil
	t.judged, t.commands = false, t.commands[:0]
	t.Reset(e.call, arena)
	return t
}
