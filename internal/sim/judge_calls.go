package sim

import (
	"fmt"
	"time"
)

// returns: every call comes back when its context ends.
func returns(h *History) string {
	for _, c := range h.Calls {
		if c.Ended < 0 {
			return fmt.Sprintf("call %d (%s), which began at %v, has not returned", c.ID, c.Kind, c.Began)
		}
		if c.took() > patience {
			return fmt.Sprintf("call %d (%s), which began at %v, took %v", c.ID, c.Kind, c.Began, c.took())
		}
		if late := c.Ended - max(c.Limit, c.Began); c.Limit > 0 && late > slackOf(c) {
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

// slackOf is how late a call may return.
func slackOf(c *Call) time.Duration {
	if c.Deadline {
		return lastLook
	}
	return lastLook + notices
}

// outcomes: each command of a call that has returned has one outcome, the call's own error
// says whether there is a command that failed.
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
