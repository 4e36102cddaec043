package cluster

// Grouping says which commands of a pipeline travel together. The zero value
// is ByNode.
type Grouping bool

const (
	// ByNode puts all commands whose slots are owned by one node into one
	// group: as few trips as there are nodes.
	ByNode Grouping = false
	// BySlot puts only commands of the same slot into one group: more and
	// smaller trips. It exists to be compared with.
	BySlot Grouping = true
)
