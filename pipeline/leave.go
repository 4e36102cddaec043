package pipeline

import (
	"context"
	"slices"
	"time"
)

// leave sends off the call's own flights, all at once. The caller waits for them, as
// long as all goes well.
func (c *Counters) leave(ctx context.Context, call *hitCall) {
	if len(call.own) == 0 {
		return
	}
	for _, f := range call.own {
		f.leave() // nobody else has seen it
	}
	if call.groups = c.divide(call.groups[:0], call.own); len(call.groups) == 0 {
		c.fly(ctx, call.own, false)
		return
	}
	c.flyTogether(ctx, call)
}

// divide divides flights by the node that owns their keys now, so that a node which
// is slow holds up its own keys only. It returns no groups if there is one node.
func (c *Counters) divide(groups []*group, flights []*flight) []*group {
	if len(flights) == 1 {
		return groups
	}
	first := c.primary(flights[0])
	apart := slices.IndexFunc(flights, func(f *flight) bool { return c.primary(f) != first })
	if apart < 0 {
		return groups
	}
	for i, f := range flights {
		addr := first
		if i >= apart {
			addr = c.primary(f)
		}
		at := slices.IndexFunc(groups, func(g *group) bool { return g.addr == addr })
		if at < 0 {
			at = len(groups)
			groups = append(groups, c.groups.Get().(*group))
			groups[at].addr = addr
		}
		groups[at].flights = append(groups[at].flights, f)
	}
	return groups
}

// primary returns the node that owns the flight's key now.
func (c *Counters) primary(f *flight) string { return c.client.Primary(f.lineup.slot) }

// A group is flights to one node.
type group struct {
	addr    string
	flights []*flight
	run     func()    // takes a carrier's there, on a goroutine of its own
	p       *Pipeline // of one that leaves together with others, until it has landed
	finish  func()    // goes on where that goroutine cannot: commands have to be sent again
}

func (c *Counters) newGroup() any {
	g := new(group)
	g.run = func() {
		defer c.inside.Leave()
		defer c.putBackGroup(g)
		c.flyAlone(g.flights, func(ctx context.Context) { c.fly(ctx, g.flights, true) })
	}
	g.finish = func() {
		defer c.inside.Leave()
		defer c.putBackGroup(g)
		c.flyAlone(g.flights, func(ctx context.Context) {
			defer c.touchDown(g.flights, false)
			c.client.Finish(ctx, &g.p.list.Request)
			c.conclude(ctx, g.p, g.flights)
		})
	}
	return g
}

func (c *Counters) putBackGroup(g *group) {
	if g.p = nil; cap(g.flights) <= handyHits {
		clear(g.flights)
		g.flights = g.flights[:0]
		c.groups.Put(g)
	}
}

// scatter has a carrier's groups leave apart from each other, but for the first, which it
// returns.
func (c *Counters) scatter(flights []*flight) []*flight {
	var few [8]*group
	groups := c.divide(few[:0], flights)
	if len(groups) == 0 {
		return flights
	}
	for _, g := range groups[1:] {
		c.inside.Stay()
		go g.run()
	}
	defer c.putBackGroup(groups[0])
	return append(flights[:0], groups[0].flights...)
}

// flyAlone has flights flown for no caller in particular: until nobody is interested
// any more, or to the Counters' end if somebody always is.
func (c *Counters) flyAlone(flights []*flight, fly func(ctx context.Context)) {
	var last time.Time
	for _, f := range flights {
		if f.forever {
			fly(c.life)
			return
		}
		if f.deadline.After(last) {
			last = f.deadline
		}
	}
	ctx := c.deadlines.Begin(context.Background(), last)
	defer c.deadlines.End(ctx)
	fly(ctx)
}

// flyTogether flies the call's groups: its goroutine sends all, and waits for all. Those
// whose commands have to be sent again go on apart from it. All land, as in fly,
// also if sending them panics.
func (c *Counters) flyTogether(ctx context.Context, call *hitCall) {
	call.ctx = ctx
	defer func() {
		for _, g := range call.groups {
			if g != nil {
				c.touchDown(g.flights, false)
			}
		}
		call.ctx = nil
	}()
	for _, g := range call.groups {
		g.p = c.load(g.flights)
		g.p.list.Executed()
		call.requests.Add(&g.p.list.Request)
	}
	if err := c.client.ExecAll(ctx, &call.requests, call.ended); err != nil {
		for _, g := range call.groups {
			g.p.list.Fail(err)
			c.conclude(ctx, g.p, g.flights)
		}
	}
}

// ended lands the i-th group of a call that flies together.
func (c *Counters) ended(call *hitCall, i int, finished bool) {
	g := call.groups[i]
	if !finished && call.ctx.Err() == nil {
		call.groups[i] = nil
		c.inside.Stay()
		go g.finish()
		return
	}
	if !finished {
		c.client.Finish(call.ctx, &g.p.list.Request)
	}
	c.conclude(call.ctx, g.p, g.flights)
	call.groups[i] = nil
	c.touchDown(g.flights, false)
	c.putBackGroup(g)
}
