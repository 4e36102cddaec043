package cluster

import "github.com/redislanes/redislanes/internal/engine"

// Grouping says which commands of a pipeline travel together. The zero value
// is ByNode.
type Grouping uint8

const (
	// ByNode puts all commands whose slots are owned by one node into one
	// group: as few trips as there are nodes.
	ByNode = Grouping(engine.ByNode)
	// BySlot puts only commands of the same slot into one group: more and
	// smaller trips. It exists to be compared with.
	BySlot = Grouping(engine.BySlot)
)

// String returns the name of the constant.
func (g Grouping) String() string { return engine.Grouping(g).String() }
