package pipeline

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/redislanes/redislanes/cluster"
)

// leave sends off the call's own flights: those to one node together, so that a
// node which is slow holds up its own keys only. The caller goes with the last
// of them.
func (c *Counters) leave(ctx context.Context, call *hitCall) {
	if len(call.own) == 0 {
		return
	}
	own := call.own
	for _, f := range own {
		f.left = true // nobody else has seen it
	}
	if len(own) > 1 {
		for groups := c.byNode(own); ; groups = groups[1:] {
			if own = groups[0]; len(groups) == 1 {
				break
			}
			c.active.Add(1)
			go c.carryOwn(own)
		}
	}
	c.fly(ctx, own, false)
}

// byNode groups flights by the node that owns their keys now.
func (c *Counters) byNode(flights []*flight) (groups [][]*flight) {
	var addrs []string
	for _, f := range flights {
		addr := c.client.Primary(cluster.Slot(f.key))
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

// carryOwn carries a call's own flights, of which nobody else knows yet.
func (c *Counters) carryOwn(flights []*flight) {
	defer c.active.Done()
	ctx, cancel := lastDeadline(flights)
	defer cancel()
	c.fly(ctx, flights, false)
}

// carry carries what has gathered for the keys. First it lets others run: those
// whose hits have just landed may have more.
func (c *Counters) carry(keys []string) {
	defer c.active.Done()
	c.letGather()
	flights := c.depart(keys)
	if len(flights) == 0 {
		return
	}
	ctx, cancel := lastDeadline(flights)
	defer cancel()
	c.fly(ctx, flights, true)
}

// letGather lets others run while hits keep coming. Most callers have had their
// turn before the carrier, see wake, but another processor may have taken some of
// them over, or the carrier itself.
func (c *Counters) letGather() {
	const mostYields = 64
	seen := c.gathered.Load()
	for range mostYields {
		runtime.Gosched()
		now := c.gathered.Load()
		if now == seen {
			return
		}
		seen = now
	}
}

// depart returns the next flight of each key, which from now on takes nobody
// more. A key for which nothing has gathered is out no more.
func (c *Counters) depart(keys []string) (flights []*flight) {
	for _, key := range keys {
		s := c.shard(key)
		s.mu.Lock()
		l := s.out[key]
		var next *flight
		for next == nil && len(l.waiting) > 0 {
			if f := l.waiting[0]; len(f.members) > 0 {
				next = f
			}
			l.waiting = l.waiting[1:]
		}
		if next == nil {
			delete(s.out, key)
		} else {
			next.left = true
			s.out[key] = l
			flights = append(flights, next)
		}
		s.mu.Unlock()
	}
	return flights
}

// lastDeadline returns a context that ends when nobody is interested any more.
func lastDeadline(flights []*flight) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, f := range flights {
		if f.forever {
			return context.Background(), func() {}
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
func (c *Counters) fly(ctx context.Context, flights []*flight, keep bool) {
	c.send(ctx, flights)
	var more []string
	for _, f := range flights {
		if c.land(f, keep) {
			more = append(more, f.key)
		}
	}
	c.wake(flights, more)
}

// wake wakes the members of flights that have landed and starts the carrier for
// more, if there is any. It does so just before it wakes the last one: Go's
// scheduler runs next what has become ready last, and puts what this displaces
// at the end of the processor's queue. So the carrier has its turn behind the
// callers, who by then have made their next hits.
func (c *Counters) wake(flights []*flight, more []string) {
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
	if len(more) > 0 {
		c.active.Add(1)
		go c.carry(more)
	}
	last.landed()
}
