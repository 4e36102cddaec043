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
	fmt.Fprintf(&b, "), %d executions, %d faults", len(h.Log), len(h.Faults))
	return b.String()
}
