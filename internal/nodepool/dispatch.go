package nodepool

import (
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// dispatch gives waiting batches to shared lanes that have room. Between rounds the lock is
// released, and the lanes are written.
func (a *sharedAccess) dispatch() {
	for more := true; more; {
		a.mu.Lock()
		more = a.serveLocked()
		a.mu.Unlock()
	}
}

// serveLocked gives batches that wait, maxServed at most, to lanes, and reports whether it gave
// so many. Batches that waited go as with FirstFit: the strategy is a user's function and must
// not run under the lock.
func (a *sharedAccess) serveLocked() (more bool) {
	set := a.set.Load()
	for range maxServed {
		w := a.queue.first()
		if w == nil || !a.placeLocked(set, lanes.FirstFit(set.Set, w.batch.Key()), w.batch) {
			return false
		}
		a.removeLocked(w)
	}
	return true
}

// placeLocked gives the batch to the i-th lane or the next one with room.
func (a *sharedAccess) placeLocked(set *wire.Lanes, i int, b *wire.Batch) bool {
	n := set.Len()
	for left := n; left > 0; left-- {
		if a.mu.giveLocked(set.Lane(i), b, a.MaxInFlight) {
			return true
		}
		i = (i + 1) % n
	}
	return false
}
