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
// for each batch. Batches wait when every lane is at its limit. Slow commands and large batches travel on
// SlowLanes lanes of their own, so that others do not queue behind them. The pool wants these lanes from
// the first slow batch on.
type sharedAccess struct {
	*Pool
	fast, slow lineup
	turn       atomic.Uint32
}

// leastUsed chooses among the lanes for slow batches: FirstFit would put them one behind the other.
var leastUsed lanes.Strategy = lanes.LeastUsed

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

// wantSlowLocked makes the pool want its lanes for slow commands.
func (a *sharedAccess) wantSlowLocked() {
	if c := &a.size; c.max == a.Max {
		c.min, c.max, c.target = c.min+a.SlowLanes, c.max+a.SlowLanes, c.target+a.SlowLanes
	}
}

func (a *sharedAccess) lineups() [2]*lineup { return [...]*lineup{&a.fast, &a.slow} }

func (a *sharedAccess) submit(b *wire.Batch) (mine bool) {
	l, strategy := &a.fast, a.Strategy
	slow := a.SlowLanes > 0 && (b.Slow || b.Size() >= largeBatch)
	if slow {
		l, strategy = &a.slow, leastUsed
	}
	switch waiting := l.queue.len(); {
	case waiting >= a.MaxWaiters:
		// Without mu: under overload this is the usual case, and must not keep the batches that
		// are served waiting for the lock.
		b.Fail(a.addr, a.tooManyWait(slow))
		return false
	case waiting == 0:
		if a.Strategy != nil { // a user's function, which may take its time
			b.FlushCall()
		}
		set, i := l.set.Load(), 0
		if strategy == nil {
			i = lanes.FirstFit(set.Set, b.Key)
		} else if set.Len() > 0 {
			var err error
			if i, err = a.ask(strategy, set.Set, b.Key); err != nil {
				b.Fail(a.addr, err)
				return false
			}
		}
		for left := set.Len(); left > 0; left-- {
			if ok, _ := set.Lane(i).Enqueue(b, a.MaxInFlight, true); ok {
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
	if slow {
		a.wantSlowLocked()
	}
	err := a.waitLocked(&waiter{batch: b}, slow)
	a.mu.Unlock()
	if err != nil {
		b.Fail(a.addr, err)
		return false
	}
	a.dispatch() // room may have become free before b was in the queue
	return false
}

// ask asks the strategy, without the lock; an index out of range counts as the
// nearest turn. A strategy that panics costs the batch that it was asked about.
func (a *sharedAccess) ask(strategy lanes.Strategy, set *lanes.Set, key int64) (i int, err error) {
	err = func() (err error) {
		defer guard.Catch("Laned.Strategy", &err)
		i = strategy(set, key)
		return nil
	}()
	if err != nil {
		a.log.Panicked(err)
	}
	return int(uint(i) % uint(set.Len())), err
}

func (a *sharedAccess) answered(*member) {
	if a.queue.len() > 0 {
		a.dispatch()
	}
}

// offerLocked is for new connections: one that is shared is never given back. It becomes a lane for slow
// commands if slow batches wait and have none, or if only such lanes are missing.
func (a *sharedAccess) offerLocked(m *member) {
	fast, slow := a.members.lanes()
	m.slow = a.size.max > a.Max && (fast >= a.Max && slow < a.SlowLanes || fast > 0 && slow == 0 && a.queue.slow.len() > 0)
	m.becomeLocked(shared)
	a.changedLocked()
}

func (a *sharedAccess) withdrawLocked(*member) { a.publishLocked() }

// changedLocked gives those that wait the lanes that there are now, once the lock is released.
func (a *sharedAccess) changedLocked() {
	a.publishLocked()
	if a.queue.len() > 0 {
		a.mu.then = append(a.mu.then, a.dispatch)
	}
}

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
	fast, _ := a.members.lanes()
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
			w := l.queue.head
			if w == nil || !a.placeLocked(set, lanes.FirstFit(set.Set, w.batch.Key), w.batch) {
				break
			}
			a.queue.remove(w)
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
