package sim

import (
	"fmt"
	"time"
)

// returns: every call comes back by its context's end, exactly, but for the time that the
// user's own functions take.
func returns(h *History) string {
	for _, c := range h.Calls {
		if c.Ended < 0 {
			return fmt.Sprintf("call %d (%s), which began at %v, has not returned", c.ID, c.Kind, c.Began)
		}
		if c.took() > patience {
			return fmt.Sprintf("call %d (%s), which began at %v, took %v", c.ID, c.Kind, c.Began, c.took())
		}
		if late := c.Ended - max(c.Limit, c.Began); c.Limit > 0 && late > h.slackOf(c) {
			return fmt.Sprintf("call %d (%s) began at %v, its context ended at %v, and it returned %v later",
				c.ID, c.Kind, c.Began, c.Limit, late)
		}
	}
	return ""
}

// notices is how long a caller that reads by itself does not look whether its
// context was cancelled. Deadlines it knows beforehand. Then it looks once more, for lastLook, at
// its connections.
const (
	notices  = 10 * time.Millisecond
	lastLook = 250 * time.Microsecond
)

// slackOf is how long the user's own functions may have kept the call, which are told of
// each of its commands.
func (h *History) slackOf(c *Call) (slack time.Duration) {
	slack = lastLook
	if !c.Deadline {
		slack += notices
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

// outcomes: each command of a call that has returned has one outcome, the call's own error
// says whether there is a command that failed, and what cannot be done fails.
func outcomes(h *History) string {
	for _, c := range h.Calls {
		if c.Misuse && c.Err == nil {
			return fmt.Sprintf("call %d (%s) is a mistake of its caller, and had no error", c.ID, c.Kind)
		}
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
