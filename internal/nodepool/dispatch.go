package nodepool

import (
	"github.com/redislanes/redislanes/internal/wire"
)

// A choice is the strategy's answer for a batch that waits.
type choice struct {
	waiter *waiter
	key    int64
	lane   int // index in the set
	err    error
}

// dispatch gives waiting batches to shared lanes that have room. The strategy, a user's function,
// is asked about them without the lock, and before the pool has the role of a lane's writer.
// Meanwhile somebody else may serve some of them.
func (a *sharedAccess) dispatch() {
	var few [maxAsked]choice
	a.mu.Lock()
	for served := true; served; {
		set := a.set.Load()
		choices := a.nextLocked(few[:0], a.room(set))
		if len(choices) == 0 {
			break
		}
		a.mu.Unlock()
		for i := range choices {
			c := &choices[i]
			c.lane, c.err = a.choose(set.Set, c.key)
		}
		a.mu.Lock()
		served = a.serveLocked(set, choices)
	}
	a.mu.Unlock()
}

// room returns for how many batches the lanes have room, maxAsked at most.
func (a *sharedAccess) room(set *wire.Lanes) (n int) {
	for i := 0; i < set.Len() && n < maxAsked; i++ {
		n += max(0, a.MaxInFlight-set.InFlight(i))
	}
	return min(n, maxAsked)
}

// nextLocked appends the first n batches that wait.
func (a *sharedAccess) nextLocked(to []choice, n int) []choice {
	for w := range a.queue.all() {
		if len(to) == n {
			break
		}
		to = append(to, choice{waiter: w, key: w.batch.Key()})
	}
	return to
}

// serveLocked gives each batch that still waits to the lane that was chosen, or to
// the next one with room. It reports whether there was room for all.
func (a *sharedAccess) serveLocked(set *wire.Lanes, choices []choice) bool {
	for _, c := range choices {
		switch b := c.waiter.batch; {
		case c.waiter.in == nil: // served or gone meanwhile
		case c.err != nil:
			a.removeLocked(c.waiter)
			b.Fail(a.addr, c.err)
		case a.placeLocked(set, c.lane, b):
			a.removeLocked(c.waiter)
		default:
			return false
		}
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
