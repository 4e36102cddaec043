package redistest

import "sync"

// A slotTable is which nodes have the slots. Its lock may be taken under any other.
type slotTable struct {
	mu     sync.Mutex
	owner  [slotCount]int
	target [slotCount]int // where the slot migrates to; the owner if it does not
}

// spread gives each of so many nodes as many slots.
func (t *slotTable) spread(nodes int) {
	for slot := range slotCount {
		t.own(uint16(slot), slot*nodes/slotCount)
	}
}

func (t *slotTable) place(slot uint16) (owner, target int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owner[slot], t.target[slot]
}

func (t *slotTable) own(slot uint16, node int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owner[slot], t.target[slot] = node, node
}

func (t *slotTable) migrate(slot uint16, to int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.target[slot] = to
}

func (t *slotTable) owners() [slotCount]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owner
}
