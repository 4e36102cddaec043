package redistest

import (
	"strconv"

	"github.com/mediocregopher/radix/v4"
)

// slotCount is the number of slots of every Redis Cluster.
const slotCount = 16384

// KeyInSlot returns a key of the slot that begins with the prefix. A prefix
// with a hash tag, which decides the slot by itself, makes it look for ever.
func KeyInSlot(slot uint16, prefix string) string {
	key := []byte(prefix) // reused: a slot takes 16,384 tries on average
	for i := int64(0); ; i++ {
		key = strconv.AppendInt(key[:len(prefix)], i, 10)
		if radix.ClusterSlot(key) == slot {
			return string(key)
		}
	}
}

// KeysInSlots returns n keys, which begin with the prefix, in n slots spread
// evenly over all slots: with n a multiple of the primaries, each has as many.
func KeysInSlots(n int, prefix string) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = KeyInSlot(uint16((2*i+1)*slotCount/(2*n)), prefix)
	}
	return keys
}
