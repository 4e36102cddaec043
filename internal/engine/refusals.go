package engine

import (
	"slices"
	"sync"

	"github.com/redislanes/redislanes"
)

// refusedCommands are the error replies to an action's commands: the last of each text, the latest text
// at the end. What a dedicated connection has replied without an error has the text "".
type refusedCommands struct {
	mu  sync.Mutex // guards all
	all []refusedCommand
}

type refusedCommand struct {
	name  string
	addr  string                  // of the server
	text  string                  // that it replied
	tried func(*redislanes.Error) // adds how often; may be nil
}

func (r *refusedCommands) note(c refusedCommand) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(earlier refusedCommand) bool { return earlier.text == c.text })
	if len(r.all) == maxRefusals {
		r.all = r.all[1:]
	}
	r.all = append(r.all, c)
}

// find returns the command with the reply.
func (r *refusedCommands) find(text string) (c refusedCommand, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.all, func(c refusedCommand) bool { return c.text == text })
	if i < 0 {
		return c, false
	}
	return r.all[i], true
}

// addr returns the server of the last one; "" if there is none.
func (r *refusedCommands) addr() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		return ""
	}
	return r.all[len(r.all)-1].addr
}
