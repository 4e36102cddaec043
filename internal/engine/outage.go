package engine

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/slots"
)

// A class ranks commands by what it proves that a server runs one. A server may answer
// commands without keys while it refuses all others. It may read, and run scripts that only
// read, while it refuses to write.
type class uint8

const (
	keyless class = iota
	reading
	maybeWriting // a script, or a command that the table does not have
	writing
	classes
)

// A site is where an outage is: a node, for commands of one class, or a slot.
type site struct {
	addr  string // the node; "": the site is a slot
	class class
	slot  int32
}

// An outage is why commands are refused, or cannot be sent. It begins with the
// first of them, whatever happens to the next ones, and ends with a success.
type outage struct {
	site
	attempt.Outage           // since when; note does not remember Silent
	heard          time.Time // when the last command met it
	met            uint64    // when that was, see outages.events
	unsent         bool      // the last command was not sent, rather than refused
}

// endsWith is the rule of evidence: the success of a command that was sent before the last
// one met the outage proves nothing, whenever its reply arrives.
func (t *outage) endsWith(sent uint64) bool { return t.met <= sent }

// String names the site.
func (s site) String() string {
	switch {
	case s.addr != "":
		return "node " + s.addr
	case s.slot == slots.NoKey:
		return "the whole cluster"
	}
	return "slot " + strconv.Itoa(int(s.slot))
}

// timeLeft returns how much time the context leaves.
func timeLeft(ctx context.Context, now time.Time) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return end.Sub(now)
	}
	return math.MaxInt64
}

// outages are those of nodes that have not ended. A call knows by itself when a slot began to refuse it.
type outages struct {
	open atomic.Int32 // how many: requests look no further if there are none

	// events counts commands that have met an outage. It serves as a clock: a command notes the
	// count when it is sent, and its success ends only outages that nobody has met since. That
	// costs requests no look at the real clock.
	events atomic.Uint64

	log *guard.Journal

	mu    sync.Mutex // guards what follows
	at    map[string]*nodeOutages
	swept time.Time // when those that nobody meets any more were last looked for
}

// nodeOutages are those of one node. The log has one line for all, and one when all are over.
type nodeOutages struct {
	of   [classes]*outage
	told time.Time // since when, by what the log was told; zero: it was told nothing
}

// note returns the outage that a command has met at a node, which began now
// unless it is known, or since says otherwise. The code is that with which the server
// has refused the command; "" if it was not sent.
func (t *outages) note(at site, code string, since, now time.Time) outage {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetLocked(now)
	of := t.at[at.addr]
	if of == nil {
		if t.at == nil {
			t.at = make(map[string]*nodeOutages)
		}
		of = new(nodeOutages)
		t.at[at.addr] = of
		t.open.Store(int32(len(t.at)))
	}
	known := of.of[at.class]
	if known == nil {
		known = &outage{site: at, Outage: attempt.Outage{Since: now}}
		of.of[at.class] = known
	}
	known.heard, known.met, known.unsent = now, t.events.Add(1), code == ""
	if !since.IsZero() && since.Before(known.Since) {
		known.Since = since
	}
	if of.told.IsZero() && known.Lasted(now) >= lasting {
		of.told = known.Since
		t.log.Note(guard.Outage, at.String(), known.Lasted(now), cmp.Or(code, "not sent"),
			"are retried within RetryWindow, then fail at once")
	}
	return *known
}

// endLocked ends those of the node's outages that have ended. The log has the line over if
// none is left.
func (t *outages) endLocked(addr string, over guard.Line, ended func(*outage) bool) {
	of := t.at[addr]
	if of == nil {
		return
	}
	for s, known := range of.of {
		if known != nil && ended(known) {
			of.of[s] = nil
		}
	}
	if of.of != [classes]*outage{} {
		return
	}
	delete(t.at, addr)
	t.open.Store(int32(len(t.at)))
	if !of.told.IsZero() {
		t.log.Note(over, site{addr: addr}.String(), time.Since(of.told))
	}
}

// forgetLocked ends the outages that nobody has met for long.
func (t *outages) forgetLocked(now time.Time) {
	if now.Sub(t.swept) < sweepOutages {
		return
	}
	t.swept = now
	for addr := range t.at {
		t.endLocked(addr, guard.OutageForgotten, func(known *outage) bool { return now.Sub(known.heard) > forgetOutage })
	}
}

// moved says that the table now has replaced the one before. It ends the outages of nodes that own
// slots now and owned none before: what became of their earlier slots says nothing of these. If such
// a node is down, its pool still knows since when.
func (t *outages) moved(before, now *topology) {
	if now == before || t.open.Load() == 0 {
		return
	}
	owned := owners(before)
	t.mu.Lock()
	defer t.mu.Unlock()
	for addr := range owners(now) {
		if !owned[addr] {
			t.endLocked(addr, guard.OutageForgotten, func(*outage) bool { return true })
		}
	}
}

// owners returns the addresses of the nodes that own slots.
func owners(t *topology) map[string]bool {
	all := make(map[string]bool)
	last := uint16(slots.NoOwner)
	for _, i := range t.Owner {
		if i != last && i != slots.NoOwner {
			all[t.Nodes[i].addr] = true
		}
		last = i
	}
	return all
}

// answeredLocked says that the node has run a command of the class, sent at the time. It
// ends outages of classes up to this one: such commands run where this one did. It ends all
// outages in which nothing could be sent.
func (t *outages) answeredLocked(addr string, by class, sent uint64) {
	t.endLocked(addr, guard.OutageOver, func(known *outage) bool {
		return known.endsWith(sent) && (known.class <= by || known.unsent)
	})
}

// succeeded ends the outages that the success of one command, which was sent at
// the time, proves to have ended.
func (t *outages) succeeded(addr string, by class, sent uint64) {
	if t.open.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answeredLocked(addr, by, sent)
}

// endedBy ends the outages that the request's successes prove to have ended,
// but for trips that were judged command by command.
func (t *outages) endedBy(r *Request) {
	if t.open.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetLocked(time.Now())
	for i := range r.places {
		tr := r.places[i].trip
		if tr == nil || tr.judged || tr.Failed() || tr.Errors() > 0 {
			continue
		}
		tr.proves = max(tr.proves, r.class(i))
	}
	for _, tr := range r.execution.trips[:r.execution.used] {
		if !tr.judged && !tr.Failed() && tr.Errors() == 0 {
			t.answeredLocked(tr.pool.Address(), tr.proves, tr.sent)
		}
	}
}

// class returns what the i-th command's success proves.
func (r *Request) class(i int) class {
	switch {
	case r.slots[i] < 0:
		return keyless
	case r.marks[i]&markReads != 0:
		return reading
	case r.marks[i]&markMayWrite != 0:
		return maybeWriting
	}
	return writing
}
