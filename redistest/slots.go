package redistest

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/mediocregopher/radix/v4"
)

// Owner returns the node that owns the slot.
func (e *Emulated) Owner(slot uint16) int {
	checkSlot(slot)
	owner, _ := e.slots.place(slot)
	return owner
}

// Move gives the slot and its keys to another node at once. The node that had it replies MOVED from
// then on. Do not write to the slot at the same time: a write that has just been let in may run at
// the old node afterwards and is lost; package sim has no such gap. A migration of the slot ends;
// keys that were at its target move along. Move panics if a key is not a string; then nothing has
// moved.
func (e *Emulated) Move(slot uint16, node int) {
	checkSlot(slot)
	e.checkNode(node)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.move(slot, node)
}

// StartMigration makes the slot's owner reply ASK for keys that it does not have. The target serves
// them to clients that say ASKING, and replies MOVED to others. A migration to another target ends,
// and its keys go back. Do not write to the slot at the same time, as with Move. StartMigration
// panics if the target is the owner, or if a key that would go back is not a string.
func (e *Emulated) StartMigration(slot uint16, to int) {
	checkSlot(slot)
	e.checkNode(to)
	e.mu.Lock()
	defer e.mu.Unlock()
	owner, target := e.slots.place(slot)
	if owner == to {
		panic(fmt.Sprintf("redistest: StartMigration: node %d owns slot %d: want another node", to, slot))
	}
	if target != owner && target != to {
		e.move(slot, owner)
	}
	e.slots.migrate(slot, to)
}

// FinishMigration moves the keys that are left and makes the target the owner. It does nothing if
// the slot has no migration. Do not write to the slot at the same time, as with Move. It panics if
// a key is not a string; then nothing has moved.
func (e *Emulated) FinishMigration(slot uint16) {
	checkSlot(slot)
	e.mu.Lock()
	defer e.mu.Unlock()
	_, target := e.slots.place(slot)
	e.move(slot, target)
}

func (e *Emulated) move(slot uint16, node int) {
	owner, target := e.slots.place(slot)
	var late, keys []string // at the target of a migration, and at the owner
	if target != owner && target != node {
		late = keysOf(e.nodes[target], slot)
	}
	if owner != node {
		keys = keysOf(e.nodes[owner], slot)
	}
	moveKeys(e.nodes[target], e.nodes[node], late)
	moveKeys(e.nodes[owner], e.nodes[node], keys)
	e.slots.own(slot, node)
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
