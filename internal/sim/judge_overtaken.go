package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes/internal/cause"
)

// overtaken: a command is given up for another one of its slot only if that comes later
// and has run, and a command that reads only for one that writes. Nobody is told that a
// server does not know a script of which the client has the text.
func overtaken(h *History) string {
	return h.each(func(c *Call, i int) string {
		cmd := &c.Commands[i]
		var said resp3.SimpleError
		switch {
		case cmd.Err == nil || !slices.Contains(overtakenKinds, c.Kind):
			return ""
		case errors.As(cmd.Err, &said) && strings.HasPrefix(said.S, "NOSCRIPT "):
			return c.of(i) + ": the client knows the script"
		case !errors.Is(cmd.Err, cause.ErrOvertaken) || slices.ContainsFunc(c.Commands[i+1:], cmd.yieldsTo):
			return ""
		}
		return fmt.Sprintf("%s: no later command of slot %d has run that it would undo: %v", c.of(i), cmd.Slot, cmd.Err)
	})
}

// overtakenKinds are those of calls in which each command has an error of its own.
var overtakenKinds = []string{"pipeline", "large pipeline", "values", "several keys"}

// yieldsTo reports whether the command is not sent again behind the later one.
func (c *Command) yieldsTo(later Command) bool {
	if later.Slot != c.Slot || later.Outcome == Refused || later.Outcome == NotSent {
		return false
	}
	return later.Name != "GET" && later.Name != "MGET" || c.Name != "GET" && c.Name != "MGET"
}
