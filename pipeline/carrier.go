package pipeline

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
)

// A carrier takes what has gathered for keys to the servers, once their flights
// have landed.
type carrier struct {
	lineups  []*lineup
	gathered atomic.Int64 // hits for these keys since
	flights  []*flight    // that it takes
	run      func()       // lets hits gather, and takes them
}

func (c *Counters) newCarrier() any {
	next := new(carrier)
	next.run = func() { c.carry(next) }
	return next
}

// carry flies what has gathered. First it lets others run: those whose hits have
// just landed may have more.
func (c *Counters) carry(next *carrier) {
	defer c.inside.Leave()
	next.letGather()
	if c.depart(next); len(next.flights) > 0 {
		next.flights = c.scatter(next.flights)
		c.flyAlone(next.flights, func(ctx context.Context) { c.fly(ctx, next.flights, true) })
	}
	c.putBack(next)
}

// letGather lets others run while hits on the carrier's keys keep coming, and
// returns how often it did. Most callers have had their turn before the carrier,
// see wake, but another processor may have taken some of them over, or the
// carrier itself.
func (next *carrier) letGather() (yields int) {
	const mostYields = 64
	for seen := next.gathered.Load(); yields < mostYields; {
		runtime.Gosched()
		yields++
		now := next.gathered.Load()
		if now == seen {
			break
		}
		seen = now
	}
	return yields
}

// depart takes the next flight of each key, which from now on takes nobody more. A
// key for which nothing has gathered is out no more. Nothing points to the carrier
// then.
func (c *Counters) depart(next *carrier) {
	for _, l := range next.lineups {
		s := l.shard
		s.mu.Lock()
		l.carrier = nil
		f := l.nextLocked()
		if f != nil {
			f.leave()
			l.out = f
			s.doubtLocked(l)
			next.flights = append(next.flights, f)
		} else {
			c.dissolveLocked(l)
		}
		s.mu.Unlock()
		if f == nil {
			c.putBackLineup(l)
		}
	}
}

// nextLocked takes the first flight that somebody is left on; nil if there is
// none.
func (l *lineup) nextLocked() *flight {
	for i, f := range l.waiting {
		if len(f.members) > 0 {
			l.waiting = slices.Delete(l.waiting, 0, i+1)
			return f
		}
	}
	return nil
}

// putBack keeps the carrier for another time.
func (c *Counters) putBack(next *carrier) {
	if cap(next.lineups) <= handyHits {
		clear(next.lineups)
		clear(next.flights)
		next.lineups, next.flights = next.lineups[:0], next.flights[:0]
		c.carriers.Put(next)
	}
}

// fly sends the flights, tells their members, and starts a carrier for the keys
// for which more has gathered. If keep is set it is for all keys, which stay
// out: those whose hits have landed get the chance to fly together again,
// instead of the first of them leaving alone.
//
// The flights land also if sending them panics, with an unknown outcome: the
// caller may recover, and its keys must not be out for ever.
func (c *Counters) fly(ctx context.Context, flights []*flight, keep bool) {
	defer c.touchDown(flights, keep)
	c.send(ctx, flights)
}

// touchDown lands the flights, whatever has become of them.
func (c *Counters) touchDown(flights []*flight, keep bool) {
	var next *carrier
	for _, f := range flights {
		next = c.land(f, keep, next)
	}
	c.wake(flights, next)
}

// wake wakes the members of flights that have landed and starts the carrier for
// more, if there is one. It does so just before it wakes the last one: Go's
// scheduler runs next what has become ready last, and puts what this displaces
// at the end of the processor's queue. So the carrier has its turn behind the
// callers, which by then have made their next hits: 90 on a flight, with 100 callers on
// one key. With no carrier that waits they were 43, in two groups that flew in turn,
// and 76 with one that only yielded, since that puts it on the queue of all
// processors.
func (c *Counters) wake(flights []*flight, next *carrier) {
	var last *hitCall
	for _, f := range flights {
		for i, m := range f.members {
			if last != nil {
				last.landed() // after which its members may be used again
			}
			last, f.members[i] = m.call, nil
		}
		c.putBackFlight(f)
	}
	if next != nil {
		c.inside.Stay()
		go next.run()
	}
	last.landed()
}
