package nodepool

import (
	"slices"
	"sync/atomic"

	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/health"
	"github.com/redislanes/redislanes/internal/wire"
	"github.com/redislanes/redislanes/lanes"
)

// sharedAccess gives all connections to everybody: a strategy chooses among them
// for each batch. Batches wait when every lane is at its limit. Slow batches have lanes of their
// own, so that others do not queue behind them (see slow.go).
type sharedAccess struct {
	*Pool
	fast, slow lineup
	turn       atomic.Uint32
}

// A lineup is lanes that take the same batches.
type lineup struct {
	set   atomic.Pointer[wire.Lanes] // those that the strategy sees
	queue *line                      // of the batches that wait for them
}

func newSharedAccess(p *Pool) *sharedAccess {
	a := &sharedAccess{Pool: p}
	a.fast.queue, a.slow.queue = &p.queue.fast, &p.queue.slow
	for _, l := range a.lineups() {
		l.set.Store(wire.NewLanes(nil, &a.turn))
	}
	return a
}

func (a *sharedAccess) lineups() [2]*lineup { return [...]*lineup{&a.fast, &a.slow} }

func (a *sharedAccess) submit(b *wire.Batch) (mine bool) {
	l, strategy := &a.fast, a.Strategy
	if a.isSlow(b) {
		l, strategy = &a.slow, leastUsed
	}
	switch waiting := l.queue.len(); {
	case waiting >= a.MaxWaiters:
		// Without mu: under overload this is the usual case, and must not keep the batches that
		// are served waiting for the lock.
		b.Fail(a.addr, a.tooManyWait(l == &a.slow))
		return false
	case waiting == 0:
		if a.Strategy != nil { // a user's function, which may take its time
			b.FlushCall()
		}
		set := l.set.Load()
		i, err := a.choose(strategy, set.Set, b.Key())
		if err != nil {
			b.Fail(a.addr, err)
			return false
		}
		for left := set.Len(); left > 0; left-- {
			if set.Lane(i).Enqueue(b, a.MaxInFlight) {
				a.attend()
				return true
			}
			if i++; i == set.Len() {
				i = 0
			}
		}
	}
	b.FlushCall() // Unlock calls a user's function
	a.mu.Lock()
	err := a.waitLocked(&waiter{batch: b})
	a.mu.Unlock()
	if err != nil {
		b.Fail(a.addr, err)
		return false
	}
	a.dispatch() // room may have become free before b was in the queue
	return false
}

// choose asks the strategy, without the lock; an index out of range counts as the
// nearest turn. A strategy that panics costs the batch that it was asked about.
func (a *sharedAccess) choose(strategy lanes.Strategy, set *lanes.Set, key int64) (i int, err error) {
	n := set.Len()
	if n == 0 {
		return 0, nil
	}
	i, err = askStrategy(strategy, set, key)
	switch {
	case err != nil:
		a.log.Panicked(err)
	case i < 0 || i >= n:
		i = int(uint(i) % uint(n))
	}
	return i, err
}

func askStrategy(strategy lanes.Strategy, set *lanes.Set, key int64) (i int, err error) {
	if strategy == nil {
		return lanes.FirstFit(set, key), nil
	}
	defer guard.Catch("Laned.Strategy", &err)
	return strategy(set, key), nil
}

func (a *sharedAccess) answered(*member) {
	if a.queue.len() > 0 {
		a.dispatch()
	}
}

// offerLocked is for new connections: one that is shared is never given back.
func (a *sharedAccess) offerLocked(m *member) {
	m.becomeLocked(shared)
	a.publishLocked()
}

func (a *sharedAccess) withdrawLocked(*member) { a.publishLocked() }

func (a *sharedAccess) changedLocked() { a.publishLocked() }

// publishLocked makes the sets what they are now: the lanes that are not much slower than others, or all
// if there are no others. They are empty if the server is suspect.
func (a *sharedAccess) publishLocked() {
	for _, l := range a.lineups() {
		open, late := make([]*wire.Lane, 0, len(a.members)), []*wire.Lane(nil)
		for _, m := range a.members {
			switch {
			case m.state != shared || m.slow != (l == &a.slow):
			case m.health.Slow():
				late = append(late, m.lane)
			default:
				open = append(open, m.lane)
			}
		}
		switch {
		case a.health.State() == health.Suspect:
			open = nil
		case len(open) == 0:
			open = late
		}
		l.set.Store(wire.NewLanes(open, &a.turn))
	}
}

// trimLocked takes lanes that are much slower than others, then the youngest, which the default strategy uses
// least. What is in flight on them comes to its end first. Lanes for slow commands leave if there are no
// more others than there are to be.
func (a *sharedAccess) trimLocked(surplus int) {
	fast, _ := a.lanesLocked()
	for _, late := range [...]bool{true, false} {
		for _, m := range slices.Backward(a.members) {
			if surplus == 0 || m.state != shared || m.health.Slow() != late || !m.slow && fast <= a.Max {
				continue
			}
			a.leaveLocked(m, errIdle, false)
			surplus--
			if !m.slow {
				fast--
			}
		}
	}
}

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
	for _, l := range a.lineups() {
		set, served := l.set.Load(), 0
		for ; served < maxServed; served++ {
			w := l.queue.first()
			if w == nil || !a.placeLocked(set, lanes.FirstFit(set.Set, w.batch.Key()), w.batch) {
				break
			}
			a.removeLocked(w)
		}
		more = more || served == maxServed
	}
	return more
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
