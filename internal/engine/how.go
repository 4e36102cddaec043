package engine

import (
	"fmt"

	"github.com/redislanes/redislanes"
)

// How says how a [Request] is sent. The zero value is the fast way: grouped by
// node, all groups at once.
type How struct {
	BySlot     bool // each group has the commands of one slot, and not those of a node
	Sequential bool // send a group only when the one before it has its replies
	Goroutines bool // send each group from a goroutine that waits for its replies
	Replicas   bool // to replicas, where there are any

	// Ended is told of commands that have ended, by their numbers, each once: of those of a
	// node when its batch has ended, whatever the other nodes do. Exec calls it, on the
	// caller's goroutine, if there are others to wait for; see [Request.Early].
	Ended func(commands []int)

	noFollow bool // MOVED and ASK stand
}

func (h How) validate() error {
	if h.Sequential && h.Goroutines {
		return fmt.Errorf("Config.Sequential and Config.Goroutines are both set: leave one of them out: %w", redislanes.ErrNotSent)
	}
	return nil
}
