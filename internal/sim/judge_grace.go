package sim

import (
	"cmp"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/redislanes/redislanes"
)

// lateFor reports whether the call began when the grace was over of what it met: its
// trouble was known for so long that calls fail at once. known is when the first calls of
// the fault met it.
func (h *History) lateFor(f Fault, c *Call, known map[meeting]time.Duration) (since time.Duration, late bool) {
	if since = c.knownSince(known); since < 0 || c.Began < since+h.Terms.Notice+h.Terms.Grace {
		return since, false
	}
	if answered := h.answered(f, c); answered >= since {
		since = c.knownSince(h.firstFailures(f, answered))
	}
	return since, since >= 0 && c.Began >= since+h.notice(f, c, since)+h.Terms.Grace
}

// answered returns when the fault's node last answered all of a call before the given one
// began that ends its trouble: one of the same kind, or one that writes; 0: it did not. One that is dead to dials may do so over a connection
// from before, that a user has given back. Then there is no trouble until that is lost.
func (h *History) answered(f Fault, c *Call) (last time.Duration) {
	if !f.local || f.harmless || len(h.Nodes) == 0 { // else it may refuse one command and answer the next
		return 0
	}
	for _, other := range h.Calls {
		writes := slices.ContainsFunc(other.Commands, func(cmd Command) bool { return cmd.Writes && cmd.Slot >= 0 })
		if other.Kind != c.Kind && !writes || other.Commands == nil || other.Began < f.At || other.Ended > c.Began || other.Ended <= last {
			continue
		}
		if !slices.ContainsFunc(other.Commands, func(cmd Command) bool { return cmd.Outcome != Acked || !h.servedBy(h.nodeOf(f), cmd.Key, other) }) {
			last = other.Ended
		}
	}
	return last
}

// servedBy reports whether it is certain that the key was the node's when the call ended.
func (h *History) servedBy(node, key string, c *Call) bool {
	if h.Terms.Primaries == 1 {
		return !slices.Contains(replicaKinds, c.Kind)
	}
	last := ""
	for i := range h.Log {
		if e := &h.Log[i]; e.Key == key && e.At <= c.Ended {
			last = e.Node
		}
	}
	return last == node
}

// notice returns how long it takes to know that the node is dead that the call met, and
// others at the given time first. Of a server that was never reached nobody knows which
// silence is unusual. Behind a shared name, replicas have a pool of their own, which finds
// out by itself.
func (h *History) notice(f Fault, c *Call, since time.Duration) time.Duration {
	if !f.local || len(h.Nodes) == 0 {
		return h.Terms.Notice
	}
	if h.Terms.Names && slices.Contains(replicaKinds, c.Kind) {
		return max(h.Terms.Notice, h.Terms.Stall+300*time.Millisecond)
	}
	for i := range c.Commands {
		cmd := &c.Commands[i]
		if addr := cmp.Or(c.met(cmd).addr, h.nodeOf(f)); cmd.Outcome != Acked && !h.reached(addr, since) {
			return max(h.Terms.Notice, h.Terms.Stall+300*time.Millisecond)
		}
	}
	return h.Terms.Notice
}

// reached reports whether the client has had a connection to the primary by that time: it
// said so when it was asked last, or a command has run there since.
func (h *History) reached(addr string, by time.Duration) bool {
	var asked time.Duration
	for i := range h.Samples {
		s := &h.Samples[i]
		if s.Addr != addr || s.Role != "primary" || s.At > by {
			continue
		}
		if asked = s.At; s.Pool.Dials > s.Pool.DialErrors+uint64(s.Pool.Dialing) {
			return true
		}
	}
	return slices.ContainsFunc(h.Log, func(e Execution) bool { return e.Node == addr && e.At >= asked && e.At <= by })
}

// nodeOf returns the address of the only node that the fault is of.
func (h *History) nodeOf(f Fault) string { return h.Nodes[f.Node%len(h.Nodes)] }

// A meeting is where calls of a kind met trouble. Kinds differ because a node has
// several pools, for slow commands and to be lent, and several troubles, of reads
// and of writes.
type meeting struct {
	kind, addr string
	reads      bool
}

// met returns where a command that failed did so.
func (c *Call) met(cmd *Command) meeting {
	at := meeting{kind: c.Kind, reads: cmd.Name == "GET"}
	var by *redislanes.Error
	if errors.As(cmd.Err, &by) && by.Command != "" {
		at.addr = by.Addr
	}
	return at
}

// firstFailures returns when the first call began, not before the given time, that met the
// fault in each way. That one connection was reset says nothing of the others, and that a
// context has ended nothing of a server that answers.
func (h *History) firstFailures(f Fault, from time.Duration) map[meeting]time.Duration {
	first := make(map[meeting]time.Duration)
	for _, c := range h.Calls {
		if c.Began < from || c.Began >= f.until() || c.Misuse {
			continue
		}
		for i := range c.Commands {
			cmd := &c.Commands[i]
			reset := cmd.Outcome == Unknown && errors.Is(cmd.Err, syscall.ECONNRESET)
			over := f.harmless && cmd.Outcome != Refused && ended(cmd.Err)
			if cmd.Outcome != Acked && !reset && !over && h.mayConcern(f, c.met(cmd).addr) {
				if at, ok := first[c.met(cmd)]; !ok || c.Began < at {
					first[c.met(cmd)] = c.Began
				}
			}
		}
	}
	return first
}

// mayConcern reports whether the fault may be why a command failed at the address; none
// is given if the command did not come so far. A pool of one connection may be busy
// elsewhere, too.
func (h *History) mayConcern(f Fault, addr string) bool {
	return !f.local || len(h.Nodes) == 0 || addr == "" || addr == h.Nodes[f.Node%len(h.Nodes)]
}

// knownSince returns when everything was known that the call met; negative: it
// met nothing, or something else.
func (c *Call) knownSince(known map[meeting]time.Duration) time.Duration {
	since := time.Duration(-1)
	for i := range c.Commands {
		if cmd := &c.Commands[i]; cmd.Outcome != Acked {
			at, ok := known[c.met(cmd)]
			if !ok {
				return -1
			}
			since = max(since, at)
		}
	}
	return since
}
