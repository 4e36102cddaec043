package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
)

// returns: every call comes back, and none takes for ever.
func returns(h *History) string {
	for _, c := range h.Calls {
		if c.Ended < 0 {
			return fmt.Sprintf("call %d (%s), which began at %v, has not returned", c.ID, c.Kind, c.Began)
		}
		if c.took() > patience {
			return fmt.Sprintf("call %d (%s), which began at %v, took %v", c.ID, c.Kind, c.Began, c.took())
		}
	}
	return ""
}

// deadlines: no call returns later than its context's end, exactly, but for the
// time that the user's own functions take.
func deadlines(h *History) string {
	for _, c := range h.Calls {
		if late := c.Ended - max(c.Limit, c.Began); c.Limit > 0 && late > h.slackOf(c) {
			return fmt.Sprintf("call %d (%s) began at %v, its context ended at %v, and it returned %v later",
				c.ID, c.Kind, c.Began, c.Limit, late)
		}
	}
	return ""
}

// notices is how long a caller that reads by itself does not look whether its
// context was cancelled. Deadlines it knows beforehand. Then it has a look, for lastLook,
// at each other connection on which it would have read.
const (
	notices  = 10 * time.Millisecond
	lastLook = 250 * time.Microsecond
)

// slackOf is how long the user's own functions may have kept the call, which are told of
// each of its commands.
func (h *History) slackOf(c *Call) (slack time.Duration) {
	if !c.Deadline {
		slack = notices + time.Duration(len(h.Nodes))*lastLook
	}
	if slow := h.slackIn(Span{c.Began, c.Ended}); slow > 0 {
		slack = max(slack, slow+time.Duration(len(c.Commands))*slowness)
	}
	return slack
}

// slackIn is how long they may have kept somebody meanwhile.
func (h *History) slackIn(s Span) (slack time.Duration) {
	for _, f := range h.Faults {
		if f.overlaps(s.From, s.To) {
			slack = max(slack, f.slack)
		}
	}
	return slack
}

// outcomes: each command of a call that has returned has one outcome, and the
// call's own error says whether there is a command that failed.
func outcomes(h *History) string {
	for _, c := range h.Calls {
		failed := false
		for i := range c.Commands {
			cmd := &c.Commands[i]
			if cmd.Outcome == Pending || cmd.Outcome == Contrary {
				return fmt.Sprintf("%s: one outcome is due: %v", c.of(i), cmd.Err)
			}
			failed = failed || cmd.Err != nil
		}
		if len(c.Commands) > 0 && failed != (c.Err != nil) {
			return fmt.Sprintf("call %d (%s) returned %v, and whether a command of it failed is %v", c.ID, c.Kind, c.Err, failed)
		}
	}
	return ""
}

// misuse: what cannot be done fails.
func misuse(h *History) string {
	for _, c := range h.Calls {
		if c.Misuse && c.Err == nil {
			return fmt.Sprintf("call %d (%s) is a mistake of its caller, and had no error", c.ID, c.Kind)
		}
	}
	return ""
}

// calm: two seconds after the last fault everything succeeds.
func calm(h *History) string {
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		if h.mayFail(c, cmd) || h.troubled(c.Began-healing, c.Ended+1) {
			return ""
		}
		if h.hastyName(cmd) {
			return ""
		}
		if h.Terms.Sentinels && errors.Is(cmd.Err, cause.ErrOvertaken) {
			return "" // the first to learn of a failover: the primary of before has refused it, and has served reads behind it
		}
		return fmt.Sprintf("%s: began at %v, %v after the last fault was over: %v", c.of(i), c.Began, c.Began-h.lastOver(c.Began), cmd.Err)
	})
}

// mayFail reports whether the command succeeded, or may fail in a healthy world.
func (h *History) mayFail(c *Call, cmd *Command) bool {
	switch {
	case cmd.Outcome == Acked && cmd.Err == nil, h.Terms.Stubborn, isTooMuch(cmd.Err), h.closedBy(c.Ended), c.Misuse, c.Blocks, c.hasty():
		return true
	case h.Shut > 0 && c.Ended >= h.Shut && errors.Is(cmd.Err, redislanes.ErrClosed):
		return true
	case exhausted(cmd.Err):
		return h.Terms.FewCalls || h.crowded(c) || h.lentOut(c)
	case (c.Kind == transaction || c.Kind == raw) && redirected(cmd.Err):
		return true
	case h.Terms.Proxy && (c.Kind == transaction || c.Kind == raw || c.Kind == "script") && demoted(cmd.Err):
		return true // a connection that was made in the second before a failover
	case c.Kind == eachPrimary && (h.Terms.Sentinels || h.Terms.Names) && errors.Is(cmd.Err, redislanes.ErrNotMember):
		return true // it is one no more
	}
	// Where callers wait for each other, there may be no time to follow a redirect.
	return (ended(cmd.Err) || redirected(cmd.Err) && c.Deadline && c.Ended >= c.Limit) && h.crowded(c)
}

// mapAfterHint is how long a refresh may take to follow a hint: the client spaces them.
const mapAfterHint = 600 * time.Millisecond

// gentle: during what is no more than a change, or a refusal that is over within
// the grace, calls succeed that have time for it.
func gentle(h *History) string {
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		if h.mayFail(c, cmd) {
			return ""
		}
		if (c.Kind == transaction || c.Kind == raw) && errors.As(cmd.Err, new(resp3.SimpleError)) || c.Kind == "script" && cmd.Outcome == Failed || errors.Is(cmd.Err, cause.ErrOvertaken) {
			return "" // what is refused within a lent action or a script is not performed again, nor what would undo others
		}
		f := h.only(c)
		if f == nil || c.Limit > 0 && c.Limit-c.Began < f.For+time.Second {
			return ""
		}
		if h.hastyName(cmd) {
			return ""
		}
		if h.Terms.Names && h.besides(f, c) {
			return "" // only a map says that a name leads to another node now, and the map was wrong
		}
		var said resp3.SimpleError
		if c.Kind == eachPrimary && errors.As(cmd.Err, &said) && passes(said) {
			return "" // what is for one node is not sent again
		}
		tryAgain := cmd.Outcome == Refused && (cmd.Name == "MSET" || cmd.Name == "MGET") && strings.Contains(cmd.Err.Error(), "TRYAGAIN") // until all keys have moved
		if lasts := f.For + f.after; f.gentle && !tryAgain || (f.brief || tryAgain) && lasts < h.Terms.Grace-200*time.Millisecond {
			return fmt.Sprintf("%s: failed during %q, which lasts %v: %v", c.of(i), f.name, lasts, cmd.Err)
		}
		return ""
	})
}

// hastyName reports whether the command may fail because another node is behind a name now:
// calls wait for a dial and a map that says so, and there is no time for that.
func (h *History) hastyName(cmd *Command) bool {
	return h.Terms.Names && h.Terms.Grace >= 0 && h.Terms.Grace < mapAfterHint && (cmd.Outcome == Refused || cmd.Outcome == NotSent)
}

// besides reports whether another fault was about since the given one began, until the call
// ended.
func (h *History) besides(f *Fault, c *Call) bool {
	return slices.ContainsFunc(h.Faults, func(other Fault) bool {
		return other.At != f.At && other.overlaps(f.At, c.Ended)
	})
}

// exhausted reports whether a pool was full for a command, or for its repeat. Where that leaves
// the outcome unknown, only the text says why.
func exhausted(err error) bool {
	return errors.Is(err, redislanes.ErrExhausted) || errors.Is(err, redislanes.ErrUnknownOutcome) && strings.Contains(err.Error(), "pool exhausted: ")
}

// only returns the fault that is about during the call, or shortly before; nil:
// none, or several.
func (h *History) only(c *Call) (only *Fault) {
	for i := range h.Faults {
		if !h.Faults[i].overlaps(c.Began-2*healing, c.Ended+1) {
			continue
		}
		if only != nil {
			return nil
		}
		only = &h.Faults[i]
	}
	return only
}

// redirected reports whether a slot has another owner than the client knew: an
// action on a dedicated connection that has begun is not performed again. The client
// learns of it by the error, or else with a refresh.
func redirected(err error) bool {
	var said resp3.SimpleError
	return errors.As(err, &said) && strings.HasPrefix(said.Error(), "MOVED ")
}

// demoted reports whether a server says that it is a replica. Where others have its place
// now, behind a proxy, its connections stay.
func demoted(err error) bool {
	var said resp3.SimpleError
	return errors.As(err, &said) && strings.HasPrefix(said.Error(), "READONLY ")
}

// ended reports whether a command failed because its call's context ended, as it
// may when a pool of one connection has many callers.
func ended(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// crowded reports whether others kept connections busy during the call: many at
// a time, or one who blocks.
func (h *History) crowded(c *Call) bool { return c.among(h.Crowds) || c.among(h.Blocked) }

// among reports whether one of the spans was about during the call.
func (c *Call) among(spans []Span) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.From <= c.Ended && c.Began <= s.To })
}

// hasty reports whether the call's context ended so early that a healthy world
// may not be in time.
func (c *Call) hasty() bool {
	return c.Limit > 0 && (!c.Deadline || c.Limit-c.Began < time.Second || c.Large && c.Limit-c.Began < 10*time.Second)
}

// lastOver returns when the last fault before the time was over.
func (h *History) lastOver(at time.Duration) (over time.Duration) {
	for _, f := range h.Faults {
		if end := f.over(); end <= at {
			over = max(over, end)
		}
	}
	return over
}

// failOpen: while a node is dead for good, and nothing else is wrong, each call
// fails at once as soon as the grace of the trouble is over.
func failOpen(h *History) string {
	if h.Terms.Grace < 0 {
		return ""
	}
	for k, f := range h.Faults {
		if !f.dead || !h.alone(k) {
			continue
		}
		known := h.firstFailures(f, f.At)
		most := 4*h.Terms.RoundTrip + 300*time.Millisecond + h.Terms.Parting // a pool may wait for the end of a connection
		for _, c := range h.Calls {
			if c.Began < f.At || c.Began+most >= f.until() || c.Misuse || c.Blocks || c.Large || c.Bulk || c.took() <= most || h.closedBy(c.Ended) {
				continue
			}
			if !f.local && c.ran() {
				continue // a part of it may have met a trouble that it is the first to know
			}
			if since, late := h.lateFor(f, c, known); late && !h.crowded(c) && !h.lentOut(c) && !h.heardOf(f, c) {
				return fmt.Sprintf("call %d (%s) began at %v, when %q had lasted for %v and was known for %v, and took %v: calls fail at once after the grace of %v",
					c.ID, c.Kind, c.Began, f.name, c.Began-f.At, c.Began-since, c.took(), h.Terms.Grace)
			}
		}
	}
	return ""
}

// heardOf reports whether a user who waited since before the fault was answered so late
// that the call may be the first to find the node silent again: one byte on a connection
// from before ends all suspicion, though no dial is answered.
func (h *History) heardOf(f Fault, c *Call) bool {
	return slices.ContainsFunc(h.Calls, func(other *Call) bool {
		return other.Blocks && other.Err == nil && other.Began < f.At && other.Ended < c.Ended && other.Ended+h.Terms.Notice >= c.Began
	})
}

// stalled: no call waits much longer than StallTimeout for a node that is dead, unless it
// has a connection for itself, which may be silent for as long as its user likes.
func stalled(h *History) string {
	most := h.Terms.Stall + h.Terms.Notice + max(h.Terms.Grace, 0) + time.Second
	for k, f := range h.Faults {
		if !f.dead || h.Terms.Grace < 0 || !h.alone(k) {
			continue
		}
		for _, c := range h.Calls {
			if c.Began < f.At || c.Began+most >= f.until() || c.took() <= most || c.Kind == transaction || c.Kind == watching || c.Kind == raw || c.Blocks || c.Large || c.Misuse || h.crowded(c) || h.lentOut(c) {
				continue
			}
			return fmt.Sprintf("call %d (%s) began at %v, and took %v while %q lasted: connections are closed after %v of silence",
				c.ID, c.Kind, c.Began, c.took(), f.name, h.Terms.Stall)
		}
	}
	return ""
}

// lentOut reports whether the users of dedicated connections, or the callers of a swarm, had as
// many as a pool makes, for a while of the call.
func (h *History) lentOut(c *Call) bool {
	users := 0
	for _, other := range h.Calls {
		if other == c || !c.among([]Span{{other.Began, other.Ended}}) {
			continue
		}
		switch other.Kind {
		case transaction, raw, watching, unclean:
			users++
		case swarm:
			users += leastOfASwarm
		}
	}
	return users >= h.Terms.MaxConns
}

// ran reports whether a command of the call has run.
func (c *Call) ran() bool {
	return slices.ContainsFunc(c.Commands, func(cmd Command) bool { return cmd.Outcome == Acked })
}

// alone reports whether no other fault is about while the k-th one is, or
// shortly before.
func (h *History) alone(k int) bool {
	f := h.Faults[k]
	for i, other := range h.Faults {
		if i != k && other.overlaps(f.At-2*healing, f.until()) {
			return false
		}
	}
	return true
}
