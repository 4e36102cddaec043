package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

const (
	minRetryBackoff = 2 * time.Millisecond
	maxRetryBackoff = 250 * time.Millisecond
)

// A retry sends commands again that the server has certainly not executed:
// redirected and refused ones, and those that were not sent. Each goes alone;
// commands that ran are never repeated.
type retry struct {
	client  *Client
	request *Request
	flight  *flight
	how     How

	again     []int           // the commands of the next wave, in order
	routes    map[int]route   // where a redirect sent them
	bySlot    map[int32]route // the last redirect of each slot
	redirects int
	retries   int
}

// A route is where a redirect sends a command.
type route struct {
	node   *node
	asking bool
}

// run sends wave after wave until nothing is left that may be sent again.
func (x *retry) run(ctx context.Context) {
	for i := range x.request.bounds {
		x.again = append(x.again, i)
	}
	for !x.flight.abandoned && ctx.Err() == nil { // else the outcomes stand
		delay, more := x.plan()
		if !more {
			return
		}
		if delay > 0 && wait(ctx, delay) != nil {
			return // the refusals stand
		}
		if ctx.Err() != nil {
			return
		}
		if !x.send(ctx) {
			return
		}
	}
}

// plan judges the commands of the last wave and keeps those to be sent again.
// It returns how long to wait first.
func (x *retry) plan() (delay time.Duration, more bool) {
	x.routes, x.bySlot = make(map[int]route), make(map[int32]route)
	next := x.again[:0]
	follow, refused := false, false
	for _, i := range x.again {
		switch x.judge(i) {
		case toFollow:
			follow = true
			next = append(next, i)
		case toRetry:
			refused = true
			next = append(next, i)
		}
	}
	x.again = next
	if len(next) == 0 {
		return 0, false
	}
	if refused {
		if x.retries++; x.retries > x.client.cfg.MaxRetries {
			return 0, false
		}
		limit := min(minRetryBackoff<<min(x.retries-1, 20), maxRetryBackoff)
		delay = rand.N(limit) + 1
	}
	if follow {
		if x.redirects++; x.redirects > x.client.cfg.MaxRedirects {
			return 0, false
		}
	}
	return delay, true
}

type step uint8

const (
	stands   step = iota // the outcome is final
	toFollow             // another node should have it, at once
	toRetry              // later
)

func (x *retry) judge(i int) step {
	reply, addr, err := x.request.outcome(i)
	if err != nil {
		return x.judgeFailure(err, x.request.repeat[i])
	}
	if !resp.IsError(reply) {
		return stands
	}
	c := x.client
	switch to := classify(resp.ErrorText(reply), addr); to.verdict {
	case moved, ask:
		if x.how.noFollow {
			c.hint()
			return stands
		}
		x.follow(i, to)
		return toFollow
	case readOnly, down:
		c.hint()
		c.counters.refused.Add(1)
		return toRetry
	case tryAgain, noReplicas:
		c.counters.refused.Add(1)
		return toRetry
	}
	return stands
}

// judgeFailure decides for a command without a reply.
func (x *retry) judgeFailure(err error, repeatable bool) step {
	notSent := errors.Is(err, lanes.ErrNotSent)
	switch {
	case !notSent && !repeatable,
		errors.Is(err, pool.ErrExhausted), // the service wants to know at once
		x.client.ctx.Err() != nil:
		return stands
	}
	var refused *lanes.HandshakeError
	if errors.As(err, &refused) {
		return stands // a wrong password does not get better
	}
	x.client.hint()
	if notSent {
		x.client.counters.notSent.Add(1)
	} else {
		x.client.counters.repeated.Add(1)
	}
	return toRetry
}

// follow notes where a redirect sends the command and, for MOVED, the slot.
func (x *retry) follow(i int, to redirect) {
	c := x.client
	n := c.node(to.addr)
	r := route{node: n, asking: to.verdict == ask}
	if r.asking {
		c.counters.ask.Add(1)
	} else {
		c.counters.moved.Add(1)
		c.setOwner(to.slot, n)
		c.hint()
	}
	x.routes[i] = r
	x.bySlot[x.request.slots[i]] = r
}

// send sends the wave. It reports whether any command may have to be sent yet
// again.
func (x *retry) send(ctx context.Context) (failed bool) {
	r, f := x.request, x.flight
	t := x.client.topology.Load()
	asking := x.askingBounds()
	first := f.used
	for _, i := range x.again {
		to, asks, err := x.target(t, i)
		if err != nil {
			r.places[i] = place{err: err}
			failed = true
			continue
		}
		tr := x.tripTo(to, first)
		if asks {
			tr.Add(asking.from, asking.to)
		}
		r.places[i] = place{trip: tr, pos: tr.Len()}
		tr.Add(r.bounds[i].from, r.bounds[i].to)
	}
	return f.send(ctx, f.trips[first:f.used], x.how.Sequential) || failed
}

// target returns where the command goes: to where a redirect sent it or, since
// commands of one slot must keep their order, where the last redirect sent
// another command of the slot; else by the map.
func (x *retry) target(t *topology, i int) (p *pool.Pool, asking bool, err error) {
	slot := x.request.slots[i]
	to, ok := x.bySlot[slot]
	if slot < 0 || !ok {
		to, ok = x.routes[i]
	}
	if ok {
		return to.node.pool(asPrimary), to.asking, nil
	}
	if t.primary(slot) == nil {
		return nil, false, noOwnerError(slot)
	}
	return x.client.poolFor(t, slot, x.how), false, nil
}

// tripTo returns this wave's trip to the pool.
func (x *retry) tripTo(p *pool.Pool, first int) *trip {
	for _, t := range x.flight.trips[first:x.flight.used] {
		if t.pool == p {
			return t
		}
	}
	return x.flight.trip(p, x.request.arena)
}

// askingBounds appends an ASKING to the arena, behind all commands. The trips
// of this wave must be made after it.
func (x *retry) askingBounds() bound {
	from := len(x.request.arena)
	x.request.arena = resp.AppendCommand(x.request.arena, "ASKING")
	return bound{from, len(x.request.arena)}
}
