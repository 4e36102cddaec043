package engine

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/resp"
)

// A retry sends commands again that the server has certainly not executed:
// redirected and refused ones, and those that were not sent. Only these go again, not
// their whole trip. A command that ran is never sent again, but for an EXPIRE behind
// one that is (see attempt.Order). Redirected ones go at once, the others after a backoff, and
// commands of one slot together, so that they keep their order. Nothing waits
// for the replies of another node: a trip is judged when it ends with an error,
// while others are in flight. All commands of a slot that are in flight are in
// one trip, unless ASK has sent some of its keys elsewhere: then all on one key are.
type retry struct {
	client    *Client
	request   *Request
	execution *execution
	how       How

	histories []history        // of each command; the request's, too
	bySlot    map[int32]route  // of MOVED, and of replicas
	byKey     map[string]route // of ASK, which is about one key only
	moves     []move           // what the MOVED that were judged last said
	avoid     []*node          // replicas that have not answered

	unplaced []int     // commands that got no trip and were not judged yet
	now      []int     // those of the next attempt, in order
	later    []int     // those that wait until due, in order
	due      time.Time // unless later is empty
	sent     time.Time // when the last attempt was made

	steps  []attempt.Step // of the commands that are being judged
	asking bound          // an ASKING in the request's arena
}

// run judges and sends until nothing is left that may be sent again.
func (x *retry) run(ctx context.Context) {
	x.begin()
	defer func() { x.request.took = time.Since(x.request.began) }()
	for !x.execution.abandoned && ctx.Err() == nil { // else the outcomes stand
		x.judgeEnded()
		if len(x.now) == 0 && len(x.later) > 0 && (!time.Now().Before(x.due) || x.client.ctx.Err() != nil) {
			x.now, x.later = x.later, nil
		}
		switch {
		case len(x.now) > 0:
			x.send(ctx)
			continue
		case !x.execution.open && len(x.later) == 0:
			return
		}
		x.wait(ctx)
	}
	x.execution.leave(ctx.Err())
}

// begin notes which commands travel on which trip.
func (x *retry) begin() {
	r := x.request
	x.histories = make([]history, len(r.bounds))
	r.histories, r.began = x.histories, time.Now()
	x.sent = r.began
	x.bySlot, x.byKey = make(map[int32]route), make(map[string]route)
	for i, p := range r.places {
		x.histories[i].Tries = 1
		if p.trip == nil {
			x.unplaced = append(x.unplaced, i)
		} else {
			p.trip.commands = append(p.trip.commands, i)
		}
	}
}

// wait returns when a trip has ended, when something is due, or at the
// context's end.
func (x *retry) wait(ctx context.Context) {
	e := x.execution
	if !e.open {
		_ = x.client.wait(ctx, time.Until(x.due), x.moved)
		return
	}
	var due <-chan time.Time
	if len(x.later) > 0 {
		timer := time.NewTimer(time.Until(x.due))
		defer timer.Stop()
		due = timer.C
	}
	if complete, err := e.call.Next(ctx, due); err != nil {
		e.leave(err)
	} else if complete {
		e.open = false
	}
}

// moved reports whether a new map sends a command that waits to another node than when it was sent. Then
// all that wait are due. What MOVED has taught is no reason: servers may redirect in a circle.
func (x *retry) moved() bool {
	now, then := x.client.topology.Load(), x.execution.table
	for _, i := range x.later {
		if movedBetween(then, now, x.request.slots[i]) {
			x.due = time.Now()
			return true
		}
	}
	return false
}

func movedBetween(then, now *topology, slot int32) bool {
	return now.Map != then.Map && now.Primary(slot) != then.Primary(slot)
}

// judgeEnded judges the commands that have no trip, and those of trips that have
// ended with an error.
func (x *retry) judgeEnded() {
	if unplaced := x.unplaced; len(unplaced) > 0 {
		x.unplaced = nil
		x.judgeAll(unplaced)
	}
	e := x.execution
	for _, t := range e.trips[e.settled:e.used] {
		if !t.judged && t.HasError() {
			t.judged = true
			e.observed.end(t)
			x.judgeAll(t.commands)
		}
	}
	if !e.open {
		e.observed.endGroups(e)
		e.settled = e.used
	}
}

// judgeAll decides about commands, in order, that have travelled together: all of
// their slots that were in flight.
func (x *retry) judgeAll(commands []int) {
	now := time.Now()
	x.steps = x.steps[:0]
	for _, i := range commands {
		delete(x.bySlot, x.request.slots[i])
		if len(x.byKey) > 0 {
			attempt.EachKey(x.request.command(i), func(key string) { delete(x.byKey, key) })
		}
	}
	for _, i := range commands {
		x.histories[i].to = route{}
		s := x.judge(i, now)
		if s == attempt.Stands {
			s = x.histories[i].unknown.Final()
		}
		x.steps = append(x.steps, s)
	}
	x.client.learn(x.moves)
	x.moves = x.moves[:0]
	x.keepOrder(commands)
	x.schedule(commands, now)
}

// keepOrder applies [attempt.Order] to commands that have travelled together.
func (x *retry) keepOrder(commands []int) {
	if !slices.ContainsFunc(x.steps, attempt.Step.Again) {
		return
	}
	r, ended := x.request, make([]attempt.Command, len(commands))
	for k, i := range commands {
		ended[k] = attempt.Command{
			Index: i, Encoded: r.command(i), Slot: r.slots[i], Step: x.steps[k], Unknown: x.histories[i].unknown.Any(),
			Reads: r.onlyReads(i), Expiry: r.marks[i]&Expiry != 0,
			Ahead: r.marks[i]&Ahead != 0,
		}
	}
	attempt.Order(ended)
	for k, c := range ended {
		a := &x.histories[c.Index]
		x.steps[k], a.overtaken = c.Step, a.overtaken || c.Overtaken
		switch {
		case c.Leads:
			of := x.histories[c.Index+1]
			a.why, a.to, a.hops, a.History = of.why, of.to, of.hops, of.History
		case c.Early:
			a.why = wasEarly
		case c.Along:
			a.History = x.histories[c.Index-1].History // how long it may go on is that one's, too
		}
		if !c.Early {
			continue
		}
		if reply, err := r.lastTry(c.Index); err != nil {
			x.mayHaveRun(c.Index, err)
		} else if !resp.IsError(reply) {
			x.mayHaveRun(c.Index, attempt.ErrEarly)
		}
	}
}

// schedule puts commands that go again into the next attempt, or among those that
// wait, if they have to, or if another one of their slot has to.
func (x *retry) schedule(commands []int, now time.Time) {
	waits := make(map[int32]bool)
	tries, left := 0, time.Duration(math.MaxInt64)
	for k, i := range commands {
		if x.steps[k] == attempt.Retry {
			waits[x.request.slots[i]] = true
			tries, left = max(tries, x.histories[i].met()), min(left, x.histories[i].Left(now, x.client.cfg.RetryWindow))
		}
	}
	if len(waits) > 0 {
		if due := now.Add(attempt.Backoff(tries, left)); len(x.later) == 0 || due.Before(x.due) {
			x.due = due
		}
	}
	for k, i := range commands {
		slot := x.request.slots[i]
		switch step := x.steps[k]; {
		case !step.Again():
			continue
		case step == attempt.Retry, slot >= 0 && waits[slot]:
			x.later = append(x.later, i)
		default:
			x.now = append(x.now, i)
		}
	}
	slices.Sort(x.now)
	slices.Sort(x.later)
}

// send makes the next attempt.
func (x *retry) send(ctx context.Context) {
	r, e := x.request, x.execution
	t := x.client.topology.Load()
	e.table = t
	asking := x.askingBounds()
	x.reclaim()
	first := e.used
	alone := x.aloneSlots()
	for _, i := range x.now {
		why := x.histories[i].why
		x.histories[i].Tries++
		x.client.counters.again[why].Add(1)
		to, replica, asks, err := x.target(t, i)
		if err != nil {
			r.places[i] = place{err: err}
			x.unplaced = append(x.unplaced, i)
			continue
		}
		x.histories[i].Alone = x.histories[i].Alone || slices.Contains(alone, r.slots[i])
		tr := e.tripTo(to, r, i, first, How{}, x.histories[i].Alone)
		tr.replica = replica
		if asks {
			tr.Add(asking.from, asking.to)
		}
		r.addTo(tr, i)
		tr.commands = append(tr.commands, i)
	}
	x.now = x.now[:0]
	x.sent = time.Now()
	if e.observed != nil {
		e.observed.attempt, e.observed.groups = e.observed.attempt+1, int32(e.used-first)
	}
	e.send(ctx, e.trips[first:e.used], x.how.Sequential)
}

// aloneSlots returns the slots of the next commands that go over a connection which nobody shares.
// The other commands for these slots go with them.
func (x *retry) aloneSlots() (alone []int32) {
	for _, i := range x.now {
		if slot := x.request.slots[i]; slot >= 0 && x.histories[i].Alone {
			alone = append(alone, slot)
		}
	}
	return alone
}

// reclaim gives back trips of earlier attempts, once there are many: a call may try
// for as long as it likes. Needed are those that hold what became of a command
// which does not go now.
func (x *retry) reclaim() {
	e := x.execution
	if e.open || e.used < keptTrips {
		return
	}
	for _, i := range x.now {
		x.request.places[i] = place{}
	}
	needed := make(map[*trip]bool)
	for _, p := range x.request.places {
		needed[p.trip] = true
	}
	kept := 0
	for i, t := range e.trips[:e.used] {
		if needed[t] {
			e.trips[kept], e.trips[i] = t, e.trips[kept]
			kept++
		}
	}
	e.reclaimed += e.used - kept
	e.used, e.settled = kept, kept
}
