package redistest

import (
	"fmt"
	"strconv"

	"github.com/mediocregopher/radix/v4"
)

// slotCount is the number of slots of every Redis Cluster.
const slotCount = 16384

// KeyInSlot returns a key of the slot that begins with the prefix. It panics if there is none: the
// slot must be at most 16383, and the prefix must have no hash tag, which would decide the slot.
func KeyInSlot(slot uint16, prefix string) string {
	if slot >= slotCount {
		panic(fmt.Sprintf("redistest: KeyInSlot: slot = %d: want 0 to %d", slot, slotCount-1))
	}
	if radix.ClusterSlot([]byte(prefix+"0")) == radix.ClusterSlot([]byte(prefix+"1")) { // which are two without a tag
		panic(fmt.Sprintf("redistest: KeyInSlot: prefix = %q: its hash tag decides the slot; want a prefix without one", prefix))
	}
	key := []byte(prefix) // reused: a slot takes 16,384 tries on average
	for i := int64(0); ; i++ {
		key = strconv.AppendInt(key[:len(prefix)], i, 10)
		if radix.ClusterSlot(key) == slot {
			return string(key)
		}
	}
}

// KeysInSlots returns n keys that begin with the prefix, in n slots that are spread evenly. If n
// is a multiple of the number of primaries, each primary has as many of them. It panics if n is not
// 0 to 16384, or the prefix has a hash tag.
func KeysInSlots(n int, prefix string) []string {
	if n < 0 || n > slotCount {
		panic(fmt.Sprintf("redistest: KeysInSlots: n = %d: want 0 to %d, one key in a slot", n, slotCount))
	}
	keys := make([]string, n)
	for i := range keys {
		keys[i] = KeyInSlot(uint16((2*i+1)*slotCount/(2*n)), prefix)
	}
	return keys
}
