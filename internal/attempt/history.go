// Package attempt decides what happens next to a command that was sent. It is pure: it
// holds no lock, timer or goroutine, and does no I/O.
//
//   - A [Step] is the decision: the command has run, stands, or is sent again now or later.
//   - [History.Next] is the one rule for retries. The window of a command begins with its own
//     first failure. A command that meets a refusal older than the window is not sent again.
//     [Backoff] says when a retry is due.
//   - [Order] is the one rule for order. Commands of one slot take effect in their order or not
//     at all, and an EXPIRE stays behind the command on its key.
//   - An [Unknown] outcome is that of a command that may have run in a try without a reply. Only
//     a reply that is about the command ends it.
//
// Package fate says what an error reply proves; this package says what follows from it.
package attempt

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/internal/fate"
)

const (
	// Forever is the window of a client that retries for as long as the context lasts.
	Forever time.Duration = math.MaxInt64

	// minBackoff is the longest wait before the second try.
	minBackoff = 2 * time.Millisecond

	// MaxBackoff is the longest wait between two tries.
	MaxBackoff = 250 * time.Millisecond

	// noSlot is the slot of a command without a key.
	noSlot = -1
)

// A Site is where commands fail: a node, a slot, or the whole cluster.
type Site struct {
	Addr string // of the node; "": the site is the slot
	Slot int32  // below 0: none
}

// AtNode returns the node as a site.
func AtNode(addr string) Site { return Site{addr, noSlot} }

// AtSlot returns the slot as a site. Without a slot, that is the whole cluster.
func AtSlot(slot int32) Site { return Site{"", max(slot, noSlot)} }

// String names the site.
func (s Site) String() string {
	switch {
	case s.Addr != "":
		return "node " + s.Addr
	case s.Slot < 0:
		return "the whole cluster"
	}
	return "slot " + strconv.Itoa(int(s.Slot))
}

// A History is what the tries of one command have come to.
type History struct {
	Tries int  // how often it was sent, or could not be sent
	Alone bool // the next try goes over a connection that nobody shares

	// Since and Site are of the oldest refusal that the command has met. Since is zero if it has
	// met none, or has a reply.
	Since time.Time
	Site  Site

	first time.Time // when a try failed first
	lost  bool      // a reply was lost with its connection
}

// A Failure is why a command has no reply, or has a refusal for one.
type Failure struct {
	At         time.Time
	Site       Site
	Since      time.Time // since when the site refuses, or is down; zero: it is not known
	Lost       bool      // the command may have run; otherwise it has not
	Due        bool      // its reply was the next one on a connection that was lost
	Repeatable bool      // the command may run twice
	Final      bool      // another try is of no use
	Replica    bool      // a replica was asked
}

// Next is the rule for retries.
//
//   - A command that may have run is sent again only if it may run twice. If its reply was the next
//     one on a connection that was lost, or if this has happened to it before, it goes over a
//     connection that nobody shares. Lost there, it has failed.
//   - What a replica does not answer goes to another one or to the primary, at once.
//   - Any other command goes again after a backoff, within the window since its own first failure.
//     It does not if its site has refused for longer than the window.
func (h *History) Next(f Failure, window time.Duration) Step {
	final := Stands
	if f.Lost {
		final = Ran
	}
	if f.Final || f.Lost && (!f.Repeatable || h.Alone) {
		return final
	}
	h.note(f)
	switch {
	case f.Replica:
		return OtherReplica
	case f.At.Sub(h.first) < window && (f.Since.IsZero() || f.At.Sub(f.Since) < window):
		return Retry
	}
	return final
}

func (h *History) note(f Failure) {
	h.Alone = h.Alone || f.Lost && (f.Due || h.lost)
	h.lost = h.lost || f.Lost
	if h.first.IsZero() {
		h.first = f.At
	}
	if f.Lost {
		return // which says nothing about the next command
	}
	since := f.Since
	if since.IsZero() {
		since = f.At
	}
	if h.Since.IsZero() || since.Before(h.Since) {
		h.Since, h.Site = since, f.Site
	}
}

// Answered notes that the command has a reply which is no refusal: what it met before is over.
func (h *History) Answered() { h.Since, h.Site = time.Time{}, Site{} }

// Left returns for how long the command, which has failed, may be sent again.
func (h *History) Left(now time.Time, window time.Duration) time.Duration {
	return window - now.Sub(h.first)
}

// Backoff returns how long to wait before a command that was sent n times is sent again: a
// random time up to a limit. The limit is 2 ms, doubled for each try but the first, and at most
// MaxBackoff and what is left. Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture
// Blog, 2015 ("full jitter").
func Backoff(n int, left time.Duration) time.Duration {
	limit := min(minBackoff<<min(n-1, 20), MaxBackoff)
	return rand.N(min(limit, max(left, minBackoff))) + 1
}

// A Step is what happens next to a command that was sent.
type Step uint8

// The steps.
const (
	Ran          Step = iota // it has run, or may have: the outcome stands
	Stands                   // it has not run, and is not sent again
	Follow                   // MOVED: it is sent at once to another node; NOSCRIPT: to the same node
	Ask                      // ASK: the same, but only for its keys
	OtherReplica             // it is sent at once to another replica, or to the primary
	Retry                    // it is sent again after a backoff
)

// Again tells whether the command is sent again.
func (s Step) Again() bool { return s > Stands }

// Stale tells whether a connection has to be replaced because of an error reply with the fate
// f. It has to be if its address leads to another server now, if its login has ended, as with a
// token that has expired, or if it is meant for a primary and the server is a replica. A script's
// error may be the only sign of that.
func Stale(f fate.Fate, text []byte, replica bool) bool {
	return f == fate.Itself || f == fate.Login && bytes.HasPrefix(text, noAuth) ||
		!replica && (f == fate.ReadOnly || fate.SaysReplica(text))
}

var noAuth = []byte("NOAUTH ")
