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
