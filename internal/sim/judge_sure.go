package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
)

// sure: what a scene does to the world does not keep commands from running that it does
// not concern, such as those for other nodes in the same call, and nothing is given to a
// connection of which there is reason to think that it will be of no use.
func sure(h *History) string {
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		if (!cmd.Sure || cmd.Outcome == Acked) && (!cmd.Clear || cmd.Outcome != Unknown || ended(cmd.Err)) || h.Terms.Stubborn || h.closedBy(c.Ended) || h.notAlone(c) || c.Large && h.besideLarge(c) || h.mayBeFull(c) && errors.Is(cmd.Err, redislanes.ErrExhausted) {
			return ""
		}
		if cmd.Clear {
			return fmt.Sprintf("%s: began at %v, and connections had been of no use for long: %v", c.of(i), c.Began, cmd.Err)
		}
		return fmt.Sprintf("%s: began at %v, and what was the matter does not concern it: %v", c.of(i), c.Began, cmd.Err)
	})
}

// mayBeFull reports whether a pool may have been full when the call came that refuses callers
// then. Where it can be told, callers had fewer connections than there may be.
func (h *History) mayBeFull(c *Call) bool {
	return h.Terms.FewCalls && (!h.Terms.FailFast || h.others(c) >= h.Terms.Law.Most)
}

// notAlone reports whether more than one fault is about during the call, or shortly before.
func (h *History) notAlone(c *Call) bool {
	n := 0
	for _, f := range h.Faults {
		if f.overlaps(c.Began-2*healing, c.Ended+time.Second) {
			n++
		}
	}
	return n > 1
}

// besideLarge reports whether another call had large values on their way meanwhile, which
// may take all of a thin link for longer than a write may be stuck.
func (h *History) besideLarge(c *Call) bool {
	return slices.ContainsFunc(h.Calls, func(other *Call) bool {
		return other != c && other.Large && other.Began < c.Ended && c.Began < other.Ended
	})
}

// reasons: while it is known why servers cannot be dialled, calls that fail for that are told.
func reasons(h *History) string {
	return h.each(func(c *Call, i int) string {
		f, err := h.only(c), c.Commands[i].Err
		if f == nil || f.reason == nil || c.Began < f.At || !errors.As(err, new(*cause.Down)) || f.reason(err) {
			return ""
		}
		return fmt.Sprintf("%s: began at %v, during %q, and is not told of that: %v", c.of(i), c.Began, f.name, err)
	})
}
