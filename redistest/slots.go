package redistest

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/mediocregopher/radix/v4"
)

// Owner returns the node that owns the slot.
func (e *Emulated) Owner(slot uint16) int {
	checkSlot(slot)
	return int(e.owners[slot].Load())
}

// Move gives the slot and its keys to another node at once. The node that had it replies MOVED from
// then on. Do not write to the slot at the same time: a write that has just been let in may run at
// the old node afterwards and is lost; package sim has no such gap. Move panics if a key is not a
// string; then nothing has moved.
func (e *Emulated) Move(slot uint16, node int) {
	checkSlot(slot)
	e.checkNode(node)
	e.mu.Lock()
	defer e.mu.Unlock()
	if owner := e.Owner(slot); owner != node {
		moveKeys(e.nodes[owner], e.nodes[node], keysOf(e.nodes[owner], slot))
		e.owners[slot].Store(int32(node))
	}
}

// keysOf returns the node's keys of the slot. It panics if one is not a string.
func keysOf(node *miniredis.Miniredis, slot uint16) (keys []string) {
	for _, key := range node.Keys() {
		if radix.ClusterSlot([]byte(key)) != slot {
			continue
		}
		if kind := node.Type(key); kind != "string" {
			panic(fmt.Sprintf("redistest: key %q is a %s: only strings can be moved", key, kind))
		}
		keys = append(keys, key)
	}
	return keys
}

// moveKeys moves strings, with their times to live.
func moveKeys(from, to *miniredis.Miniredis, keys []string) {
	for _, key := range keys {
		value, _ := from.Get(key)
		_ = to.Set(key, value)
		if ttl := from.TTL(key); ttl > 0 { // miniredis expires a key with a TTL of 0
			to.SetTTL(key, ttl)
		}
		from.Del(key)
	}
}

func checkSlot(slot uint16) {
	if slot >= slotCount {
		panic(fmt.Sprintf("redistest: slot = %d: want 0 to %d", slot, slotCount-1))
	}
}
