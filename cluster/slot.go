package cluster

import "github.com/redislanes/redislanes/internal/slots"

// SlotCount is the number of hash slots of every Redis Cluster. Slots are
// numbered 0 to SlotCount-1.
const SlotCount = slots.Count // 16,384

// Slot returns the hash slot of key, as the Redis Cluster specification
// ("Key distribution model" and "Hash tags") defines it: CRC16 of the key
// modulo SlotCount, where only the text between the first '{' and the first
// '}' after it counts if that text is not empty. Keys are bytes: any key,
// also an empty or a binary one, has a slot. It equals CLUSTER KEYSLOT.
//
// Slot does not allocate and is safe for concurrent use.
func Slot(key string) uint16 { return slots.Of(key) }

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
