package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes"
)

// sure: what a scene does to the world does not keep commands from running that it does
// not concern, such as those for other nodes in the same call.
func sure(h *History) string {
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		if !cmd.Sure || cmd.Outcome == Acked || h.Terms.Stubborn || h.closedBy(c.Ended) || h.others(c) || h.Terms.FewCalls && errors.Is(cmd.Err, redislanes.ErrExhausted) {
			return ""
		}
		return fmt.Sprintf("%s: began at %v, and what was the matter does not concern it: %v", c.of(i), c.Began, cmd.Err)
	})
}

// others reports whether more than one fault is about during the call, or shortly before.
func (h *History) others(c *Call) bool {
	n := 0
	for _, f := range h.Faults {
		if f.overlaps(c.Began-2*healing, c.Ended+time.Second) {
			n++
		}
	}
	return n > 1
}
