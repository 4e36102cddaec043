package attempt

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"
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
