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
