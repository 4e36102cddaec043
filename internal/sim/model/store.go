package model

import (
	"bytes"
	"maps"
	"slices"
)

type kind uint8

const (
	kindString kind = iota
	kindList
	kindHash
	kindZset
)

func (k kind) String() string { return [...]string{"string", "list", "hash", "zset"}[k] }

// An entry is a key's value and when it ends. Byte slices in it are never changed
// in place, so that copies may share them.
type entry struct {
	kind   kind
	str    []byte
	list   [][]byte
	fields []field // in the order in which they were added
	scores map[string]float64
	expire int64 // Unix time in milliseconds; 0: never
}

type field struct {
	name  string
	value []byte
}

func (e *entry) expired(ms int64) bool { return e.expire != 0 && e.expire <= ms }

// clone returns an independent copy.
func (e *entry) clone() *entry {
	f := *e
	f.list, f.fields, f.scores = slices.Clone(e.list), slices.Clone(e.fields), maps.Clone(e.scores)
	return &f
}

func (e *entry) equals(f *entry) bool {
	return f != nil && e.kind == f.kind && e.expire == f.expire && bytes.Equal(e.str, f.str) &&
		slices.EqualFunc(e.list, f.list, bytes.Equal) && maps.Equal(e.scores, f.scores) &&
		slices.EqualFunc(e.fields, f.fields, func(a, b field) bool { return a.name == b.name && bytes.Equal(a.value, b.value) })
}

// size is how many bytes or elements the value has.
func (e *entry) size() int {
	return len(e.str) + len(e.list) + len(e.fields) + len(e.scores) // of which it has one
}

func (e *entry) field(name []byte) *field {
	for i := range e.fields {
		if e.fields[i].name == string(name) {
			return &e.fields[i]
		}
	}
	return nil
}

// find returns the key's entry, nil if there is none or its time is over. On a
// primary that deletes it; a replica waits for its primary to do so.
func (n *Node) find(key []byte, ms int64) *entry {
	e := n.keys[string(key)]
	if e == nil || !e.expired(ms) {
		return e
	}
	if n.source == nil {
		n.remove(string(key))
	}
	return nil
}

// put sets the key's value.
func (n *Node) put(key string, e *entry) {
	n.keys[key] = e
	n.changed(key)
}

// remove deletes the key, and reports whether there was one.
func (n *Node) remove(key string) bool {
	if n.keys[key] == nil {
		return false
	}
	delete(n.keys, key)
	n.changed(key)
	return true
}

// changed tells those who watch the key and the replicas that it has another
// value, another end, or is gone.
func (n *Node) changed(key string) {
	if len(n.watchers) > 0 {
		n.touch(key, n.keys[key] == nil)
	}
	n.record(key)
}

// touch fails the transactions of the sessions that watch the key, but for those
// to which it was gone already when they began to watch: its time was over.
func (n *Node) touch(key string, gone bool) {
	for _, s := range n.watchers[key] {
		if !gone || !s.buries(key) {
			s.dirty = true
		}
	}
}

// purge deletes what has expired, as a server's background does.
func (n *Node) purge(ms int64) {
	if n.source != nil {
		return
	}
	for key, e := range n.keys {
		if e.expired(ms) {
			n.remove(key)
		}
	}
}

// clear deletes everything.
func (n *Node) clear() {
	for key := range n.watchers {
		if n.keys[key] != nil {
			n.touch(key, true)
		}
	}
	clear(n.keys)
	n.recordClear()
}

// inSlot returns the slot's keys in order.
func (n *Node) inSlot(slot uint16) []string {
	var keys []string
	for key := range n.keys {
		if Slot([]byte(key)) == slot {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
