package nodepool

import (
	"github.com/redislanes/redislanes/internal/wire"
)

// maxAsked bounds how many batches that wait are dispatched with one write on each
// lane, and one hold of the lock.
const maxAsked = 64

// A choice is the strategy's answer for a batch that waits.
type choice struct {
	waiter *waiter
	key    int64
	lane   int // index in the set
	err    error
}

// dispatch gives waiting batches to shared lanes that have room. The strategy, a
// user's function, is asked about them without the lock, and before the pool has
// the role of a lane's writer; when it has answered, somebody else may have served
// some of them.
func (p *Pool) dispatch() {
	var few [maxAsked]choice
	p.mu.Lock()
	for served := true; served; {
		set := p.set.Load()
		choices := p.nextLocked(few[:0], p.room(set))
		if len(choices) == 0 {
			break
		}
		p.unlock()
		for i := range choices {
			c := &choices[i]
			c.lane, c.err = p.choose(set.Set, c.key)
		}
		p.mu.Lock()
		served = p.serveLocked(set, choices)
	}
	p.unlock()
}

// room returns for how many batches the lanes have room, maxAsked at most.
func (p *Pool) room(set *wire.Lanes) (n int) {
	for i := 0; i < set.Len() && n < maxAsked; i++ {
		n += max(0, p.maxInFlight-set.InFlight(i))
	}
	return min(n, maxAsked)
}

// nextLocked appends the first n batches that wait.
func (p *Pool) nextLocked(to []choice, n int) []choice {
	for e := p.queue.Front(); e != nil && len(to) < n; e = e.Next() {
		w := e.Value.(*waiter)
		to = append(to, choice{waiter: w, key: w.batch.Key()})
	}
	return to
}

// serveLocked gives each batch that still waits to the lane that was chosen, or to
// the next one with room. It reports whether there was room for all.
func (p *Pool) serveLocked(set *wire.Lanes, choices []choice) bool {
	for _, c := range choices {
		switch b := c.waiter.batch; {
		case c.waiter.place == nil: // served or gone meanwhile
		case c.err != nil:
			p.removeLocked(c.waiter.place)
			b.Fail(p.addr, c.err)
		case p.placeLocked(set, c.lane, b):
			p.removeLocked(c.waiter.place)
		default:
			return false
		}
	}
	return true
}

// placeLocked gives the batch to the i-th lane or the next one with room.
func (p *Pool) placeLocked(set *wire.Lanes, i int, b *wire.Batch) bool {
	n := set.Len()
	for left := n; left > 0; left-- {
		if p.giveLocked(set.Lane(i), b, p.maxInFlight) {
			return true
		}
		i = (i + 1) % n
	}
	return false
}

// giveLocked puts the batch on the lane. If the pool becomes the lane's writer by
// that, unlock writes.
func (p *Pool) giveLocked(lane *wire.Lane, b *wire.Batch, limit int) (ok bool) {
	ok, flush := lane.Dispatch(b, limit)
	if flush {
		p.flushes = append(p.flushes, lane)
	}
	return ok
}
