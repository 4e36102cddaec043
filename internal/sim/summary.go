package sim

import (
	"fmt"
	"strings"
)

// Summary counts what became of the commands of a history.
func (h *History) Summary() string {
	var outcomes [Contrary + 1]int
	commands := 0
	for _, c := range h.Calls {
		for i := range c.Commands {
			outcomes[c.Commands[i].Outcome]++
			commands++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls, %d commands (", len(h.Calls), commands)
	for o, n := range outcomes {
		if n > 0 {
			fmt.Fprintf(&b, "%d %v, ", n, Outcome(o))
		}
	}
	refreshes := uint64(0)
	if n := len(h.Refreshes); n > 0 {
		refreshes = uint64(h.Refreshes[n-1].Count)
	}
	fmt.Fprintf(&b, "), %d executions, %d dials, %d refreshes, %d faults", len(h.Log), len(h.Dials), refreshes, len(h.Faults))
	if h.Closing.From > 0 {
		fmt.Fprintf(&b, ", closed in %v", h.Closing.To-h.Closing.From)
	}
	return b.String()
}
