package redistest

import (
	"strconv"

	"github.com/mediocregopher/radix/v4"
)

// slotCount is the number of slots of every Redis Cluster.
const slotCount = 16384

// KeyInSlot returns a key of the slot that begins with the prefix. The prefix must have no hash
// tag: that would decide the slot, and KeyInSlot would not return.
func KeyInSlot(slot uint16, prefix string) string {
	key := []byte(prefix) // reused: a slot takes 16,384 tries on average
	for i := int64(0); ; i++ {
		key = strconv.AppendInt(key[:len(prefix)], i, 10)
		if radix.ClusterSlot(key) == slot {
			return string(key)
		}
	}
}

// KeysInSlots returns n keys that begin with the prefix, in n slots that are spread evenly. If n
// is a multiple of the number of primaries, each primary has as many of them.
func KeysInSlots(n int, prefix string) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = KeyInSlot(uint16((2*i+1)*slotCount/(2*n)), prefix)
	}
	return keys
}
