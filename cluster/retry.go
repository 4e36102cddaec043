package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

const (
	minRetryBackoff = 2 * time.Millisecond
	maxRetryBackoff = 250 * time.Millisecond
)

// backoff returns how long to wait before the n-th try: a random time up to
// minRetryBackoff, doubled for each but the first.
func backoff(n int) time.Duration {
	return rand.N(min(minRetryBackoff<<min(n-1, 20), maxRetryBackoff)) + 1
}

// A retry sends commands again that the server has certainly not executed:
// redirected and refused ones, and those that were not sent. Each goes alone;
// commands that ran are never repeated, but for an EXPIRE behind one of them
// (withExpiries). Redirected ones go at once, the others
// after a backoff, and commands of one slot together, so that they keep their
// order.
type retry struct {
	client  *Client
	request *Request
	flight  *flight
	how     How

	sent   []int           // the commands of the last wave, in order
	now    []int           // those of the next wave
	later  []int           // those that wait until due
	due    time.Time       // unless later is empty
	routes map[int]route   // where a redirect sent commands that are to be sent again
	bySlot map[int32]route // the last redirect of each slot
	moves  []move          // what the MOVED of the last wave said

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
	x.routes, x.bySlot = make(map[int]route), make(map[int32]route)
	for i := range x.request.bounds {
		x.sent = append(x.sent, i)
	}
	for !x.flight.abandoned && ctx.Err() == nil { // else the outcomes stand
		x.plan()
		if len(x.now) == 0 {
			if len(x.later) == 0 || wait(ctx, time.Until(x.due)) != nil {
				return // the refusals stand
			}
			x.now, x.later = x.later, nil
		}
		x.sent, x.now = x.now, nil
		if ctx.Err() != nil || !x.send(ctx) && len(x.later) == 0 {
			return
		}
	}
}

// plan judges the commands of the last wave and keeps those to be sent again.
func (x *retry) plan() {
	for _, i := range x.sent {
		delete(x.routes, i)
		delete(x.bySlot, x.request.slots[i])
	}
	var followed, refused []int
	x.moves = x.moves[:0]
	for _, i := range x.sent {
		switch x.judge(i) {
		case toFollow:
			followed = append(followed, i)
		case toRetry:
			refused = append(refused, i)
		}
	}
	x.client.learn(x.moves)
	if len(followed) > 0 {
		if x.redirects++; x.redirects > x.client.cfg.MaxRedirects {
			followed = nil
		}
	}
	if len(refused) > 0 {
		if x.retries++; x.retries > x.client.cfg.MaxRetries {
			refused = nil
		}
	}
	if len(followed)+len(refused) > 0 {
		x.schedule(followed, refused)
	}
}

// schedule puts commands that were redirected into the next wave, unless a
// command of their slot has to wait.
func (x *retry) schedule(followed, refused []int) {
	if len(refused) > 0 {
		x.due = time.Now().Add(backoff(x.retries))
	}
	waits := make(map[int32]bool)
	for _, i := range append(refused, x.later...) {
		waits[x.request.slots[i]] = true
		x.later = append(x.later, i)
	}
	for _, i := range followed {
		if slot := x.request.slots[i]; slot >= 0 && waits[slot] {
			x.later = append(x.later, i)
		} else {
			x.now = append(x.now, i)
		}
	}
	x.now, x.later = x.withExpiries(x.now), x.withExpiries(x.later)
}

// withExpiries sorts the commands, each once, and adds each EXPIRE that ran
// although a command before it on the same key, such as an INCRBY, is only now
// to run: otherwise the key might live for ever. To set the same time to live
// twice does no harm.
func (x *retry) withExpiries(commands []int) []int {
	if len(commands) == 0 {
		return nil
	}
	slices.Sort(commands)
	commands = slices.Compact(commands)
	slots := make(map[int32]bool)
	for _, i := range commands {
		slots[x.request.slots[i]] = true
	}
	first := commands[0]
	for j := first + 1; j < len(x.request.bounds); j++ {
		if !slots[x.request.slots[j]] || !setsExpiry[commandName(x.request.command(j))] {
			continue
		}
		at, found := slices.BinarySearch(commands, j)
		if !found && x.sameKey(commands[:at], j) && !x.changedAfter(j) {
			commands = slices.Insert(commands, at, j)
		}
	}
	return commands
}

// changedAfter tells whether the request holds another command for the key of
// the j-th, behind it, which may have changed the time to live again.
func (x *retry) changedAfter(j int) bool {
	for i := j + 1; i < len(x.request.bounds); i++ {
		if x.request.slots[i] == x.request.slots[j] && !setsExpiry[commandName(x.request.command(i))] && x.sameKey([]int{i}, j) {
			return true
		}
	}
	return false
}

// setsExpiry lists commands whose first argument is the only key, and that only
// set its time to live.
var setsExpiry = map[string]bool{"EXPIRE": true, "PEXPIRE": true, "EXPIREAT": true, "PEXPIREAT": true}

// sameKey tells whether the j-th command's first argument is that of one of the
// others, too.
func (x *retry) sameKey(others []int, j int) bool {
	key, ok := resp.Argument(x.request.command(j), 1)
	return ok && slices.ContainsFunc(others, func(i int) bool {
		other, ok := resp.Argument(x.request.command(i), 1)
		return ok && string(other) == string(key)
	})
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
		return x.judgeFailure(err, x.request.marks[i]&markRepeatable != 0)
	}
	if !resp.IsError(reply) {
		return stands
	}
	c := x.client
	switch to := classify(resp.ErrorText(reply), addr); to.verdict {
	case moved, ask:
		if slot := x.request.slots[i]; x.how.noFollow || slot >= 0 && slot != int32(to.slot) {
			c.hint()
			return stands
		}
		if x.follow(i, to) {
			return toFollow
		}
		return stands
	case readOnly:
		x.leaveReplica(x.request.places[i].trip.pool)
		fallthrough
	case down:
		c.hint()
		c.counters.refused.Add(1)
		return toRetry
	case tryAgain, noReplicas:
		c.counters.refused.Add(1)
		return toRetry
	}
	return stands
}

// leaveReplica sees to it that a write which came to a replica finds the
// primary: by another role of ours or, if the server has changed its role, by
// new connections.
func (x *retry) leaveReplica(p *pool.Pool) {
	if x.how.replica {
		x.how.replica = false
		return
	}
	p.Renew()
}

// judgeFailure decides for a command without a reply.
func (x *retry) judgeFailure(err error, repeatable bool) step {
	notSent := errors.Is(err, lanes.ErrNotSent)
	switch {
	case !notSent && !repeatable, !x.client.mayTryAgain(err):
		return stands
	case notSent:
		x.client.counters.notSent.Add(1)
	default:
		x.client.counters.repeated.Add(1)
	}
	return toRetry
}

// mayTryAgain reports whether a command without a reply, because of err, may be
// sent again, if it was not sent or may run twice.
func (c *Client) mayTryAgain(err error) bool {
	if errors.Is(err, pool.ErrExhausted) || c.ctx.Err() != nil {
		return false // the service wants to know at once
	}
	var refused *lanes.HandshakeError
	if errors.As(err, &refused) && !passing(refused) {
		return false // a wrong password does not get better
	}
	c.hint()
	var dead *pool.DownError // whoever waits for a failover waits for so long
	return !errors.As(err, &dead) || time.Since(dead.Since) <= c.cfg.DownGrace
}

// follow notes where a redirect sends the command and, for MOVED, the slot.
func (x *retry) follow(i int, to redirect) bool {
	n := x.client.followed(to)
	if n == nil {
		return false
	}
	r := route{node: n, asking: to.verdict == ask}
	if !r.asking {
		x.moves = append(x.moves, move{to.slot, n})
	}
	x.routes[i] = r
	x.bySlot[x.request.slots[i]] = r
	return true
}

// followed returns the node that MOVED or ASK names, nil if it cannot be had.
// What MOVED says of the slot is to be learned by the caller.
func (c *Client) followed(to redirect) *node {
	if to.verdict == moved {
		c.hint()
	}
	n := c.node(to)
	switch {
	case n == nil:
	case to.verdict == ask:
		c.counters.ask.Add(1)
	default:
		c.counters.moved.Add(1)
	}
	return n
}

// send sends the wave. It reports whether any command may have to be sent yet
// again.
func (x *retry) send(ctx context.Context) (failed bool) {
	r, f := x.request, x.flight
	t := x.client.topology.Load()
	asking := x.askingBounds()
	first := f.used
	for _, i := range x.sent {
		to, asks, err := x.target(t, i)
		if err != nil {
			r.places[i] = place{err: err}
			failed = true
			continue
		}
		tr := x.tripTo(to, i, first)
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

// tripTo returns this wave's trip to the pool that the i-th command may join.
func (x *retry) tripTo(p *pool.Pool, i, first int) *trip {
	slow := x.request.travelsSlow(i)
	for _, t := range x.flight.trips[first:x.flight.used] {
		if t.pool == p && t.Slow() == slow {
			return t
		}
	}
	t := x.flight.trip(p, x.request.arena)
	t.SetSlow(slow)
	t.SetKey(int64(x.request.slots[i]))
	return t
}

// askingBounds appends an ASKING to the arena, behind all commands. The trips
// of this wave must be made after it.
func (x *retry) askingBounds() bound {
	from := len(x.request.arena)
	x.request.arena = resp.AppendCommand(x.request.arena, "ASKING")
	return bound{from, len(x.request.arena)}
}
