package pipeline

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/internal/engine"
)

// leave sends off the call's own flights. The caller goes with the last of them.
func (c *Counters) leave(ctx context.Context, call *hitCall) {
	if len(call.own) == 0 {
		return
	}
	for _, f := range call.own {
		f.leave() // nobody else has seen it
	}
	c.fly(ctx, c.split(call.own, false), false)
}

// split has flights to different nodes leave apart, so that a node which is slow
// holds up its own keys only. It returns those to one of the nodes, which the
// caller is to fly.
func (c *Counters) split(flights []*flight, keep bool) []*flight {
	if len(flights) == 1 {
		return flights
	}
	groups := c.byNode(flights)
	for _, others := range groups[1:] {
		c.active.Add(1)
		go func() {
			defer c.active.Done()
			c.flyAlone(others, keep)
		}()
	}
	return groups[0]
}

// byNode groups flights by the node that owns their keys now.
func (c *Counters) byNode(flights []*flight) (groups [][]*flight) {
	var addrs []string
	for _, f := range flights {
		addr := c.client.Primary(engine.Slot(f.lineup.key))
		at := slices.Index(addrs, addr)
		if at < 0 {
			at = len(addrs)
			addrs = append(addrs, addr)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], f)
	}
	return groups
}

// flyAlone flies for no caller in particular.
func (c *Counters) flyAlone(flights []*flight, keep bool) {
	ctx, cancel := c.lastDeadline(flights)
	defer cancel()
	c.fly(ctx, flights, keep)
}

// A carrier takes what has gathered for keys to the servers, once their flights
// have landed.
type carrier struct {
	lineups  []*lineup
	gathered atomic.Int64 // hits for these keys since
}

// carry flies what has gathered. First it lets others run: those whose hits have
// just landed may have more.
func (c *Counters) carry(next *carrier) {
	defer c.active.Done()
	next.letGather()
	if flights := c.depart(next); len(flights) > 0 {
		c.flyAlone(c.split(flights, true), true)
	}
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

// depart returns the next flight of each key, which from now on takes nobody
// more. A key for which nothing has gathered is out no more.
func (c *Counters) depart(next *carrier) (flights []*flight) {
	for _, l := range next.lineups {
		s := l.shard
		s.mu.Lock()
		l.carrier = nil
		if f := l.nextLocked(); f != nil {
			f.leave()
			flights = append(flights, f)
		} else {
			c.dissolveLocked(l)
		}
		s.mu.Unlock()
	}
	c.putBack(next)
	return flights
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

// putBack keeps the carrier, which nothing points to any more, for another time.
func (c *Counters) putBack(next *carrier) {
	if cap(next.lineups) <= handyHits {
		clear(next.lineups)
		next.lineups = next.lineups[:0]
		c.carriers.Put(next)
	}
}

// lastDeadline returns a context that ends when nobody is interested any more, or
// at the Counters' end if somebody always is.
func (c *Counters) lastDeadline(flights []*flight) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, f := range flights {
		if f.forever {
			return c.life, func() {}
		}
		if f.deadline.After(last) {
			last = f.deadline
		}
	}
	return context.WithDeadline(context.Background(), last)
}

// fly sends the flights, tells their members, and starts a carrier for the keys
// for which more has gathered. If keep is set it is for all keys, which stay
// out: those whose hits have landed get the chance to fly together again,
// instead of the first of them leaving alone.
//
// The flights land also if sending them panics, with an unknown outcome: the
// caller may recover, and its keys must not be out for ever.
func (c *Counters) fly(ctx context.Context, flights []*flight, keep bool) {
	defer func() {
		next := c.carriers.Get().(*carrier)
		for _, f := range flights {
			c.oweFor(f)
			c.land(f, keep, next)
		}
		c.wake(flights, next)
	}()
	c.send(ctx, flights)
}

// wake wakes the members of flights that have landed and starts the carrier for
// more, if there is any. It does so just before it wakes the last one: Go's
// scheduler runs next what has become ready last, and puts what this displaces
// at the end of the processor's queue. So the carrier has its turn behind the
// callers, which by then have made their next hits: 90 on a flight, with 100 callers on
// one key. With no carrier that waits they were 43, in two groups that flew in turn,
// and 76 with one that only yielded, since that puts it on the queue of all
// processors. Two or three flights of a key at a time were no faster.
func (c *Counters) wake(flights []*flight, next *carrier) {
	var last *hitCall
	for _, f := range flights {
		for i, m := range f.members {
			if last != nil {
				last.landed() // after which its members may be used again
			}
			last, f.members[i] = m.call, nil
		}
		c.flights.Put(f)
	}
	if len(next.lineups) > 0 {
		c.active.Add(1)
		go c.carry(next)
	} else {
		c.putBack(next)
	}
	last.landed()
}
