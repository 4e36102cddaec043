package engine

import (
	"fmt"

	"github.com/redislanes/redislanes"
)

// Grouping says which commands of a pipeline travel together. The zero value
// is ByNode.
type Grouping uint8

const (
	// ByNode puts all commands whose slots are owned by one node into one
	// group: as few trips as there are nodes.
	ByNode Grouping = iota
	// BySlot puts only commands of the same slot into one group: more and
	// smaller trips. It exists to be compared with.
	BySlot
)

// String returns the name of the constant.
func (g Grouping) String() string {
	switch g {
	case ByNode:
		return "ByNode"
	case BySlot:
		return "BySlot"
	}
	return fmt.Sprintf("Grouping(%d)", uint8(g))
}

func (g Grouping) validate() error {
	if g > BySlot {
		return fmt.Errorf("Config.Group is %v: want ByNode or BySlot: %w", g, redislanes.ErrNotSent)
	}
	return nil
}

// How says how a [Request] is sent. The zero value is the fast way: grouped by
// node, all groups at once.
type How struct {
	Group      Grouping
	Sequential bool // send a group only when the one before it has its replies
	Goroutines bool // send each group from a goroutine that waits for its replies
	Replicas   bool // to replicas, where there are any

	noFollow bool // MOVED and ASK stand
}

func (h How) validate() error {
	if h.Sequential && h.Goroutines {
		return fmt.Errorf("Config.Sequential and Config.Goroutines are both set: leave one of them out: %w", redislanes.ErrNotSent)
	}
	return h.Group.validate()
}
