package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/slots"
)

// How says how a [Request] is sent. The zero value is the fast way: grouped by
// node, all groups at once.
type How struct {
	BySlot     bool // each group has the commands of one slot, and not those of a node
	Sequential bool // send a group only when the one before it has its replies
	Replicas   bool // to replicas, where there are any

	At Place // where all commands go, whatever the map says; nothing is tried again
}

// Exec sends all commands of the request, follows redirects of single
// commands, and returns when each has a reply or an error, at the latest when
// the context ends. It sends commands that were refused for now again, and
// those that were not sent, but one whose outcome is unknown only if it was
// marked as [Repeatable]. An EXPIRE that ran before a command on its key
// which is sent again runs once more after it.
//
// The error says only that the Request or the client cannot be used, and
// that nothing was sent; what became of the commands is in the Request, which must be Reset before it is executed
// again.
func (c *Client) Exec(ctx context.Context, r *Request, how How) error {
	if err := c.Usable(ctx); err != nil {
		return err
	}
	switch {
	case len(r.places) > 0:
		return fmt.Errorf("a request of %d commands was executed before: Reset it first", len(r.bounds))
	case len(r.bounds) == 0:
		return nil
	case r.several:
		if err := c.checkSlots(r); err != nil {
			return err
		}
	}
	if r.execution == nil {
		r.execution = newExecution()
	}
	e := r.execution // no lane holds it any more
	e.request, e.observed = r, nil
	if c.tracer.asked {
		c.tracer.observe(ctx, r)
		e.observed = &r.observed
	}
	r.places = slices.Grow(r.places[:0], len(r.bounds))[:len(r.bounds)]
	clear(r.places)
	if r.several {
		r.joinSlots()
	}
	if len(r.scripts) > 0 && r.Len() > 1 {
		r.spellOut()
	}
	trips, placed := e.place(c.topology.Load(), r, how)
	if e.observed != nil {
		e.observed.attempt, e.observed.groups = 1, int32(len(trips))
	}
	e.send(ctx, trips, how.Sequential)
	if placed {
		r.clean = e.await(ctx)
	}
	switch {
	case r.clean:
	case how.At.node != nil:
		c.learnFrom(r, how.At)
	default:
		again := retry{client: c, request: r, execution: e, how: how}
		again.run(ctx)
	}
	if c.refusals.open.Load() > 0 {
		r.noteAnswers(c)
	}
	if !r.clean {
		r.noteOutcomes(c)
	}
	if r.observed.tracer != nil {
		r.observed.ended(r)
	}
	return nil
}

// place gives all commands places on trips, by the map of the slots. It reports
// whether all of them have one at a primary.
func (e *execution) place(t *topology, r *Request, how How) (trips []*trip, placed bool) {
	e.table = t
	first, n, home := e.used, 0, uint16(slots.NoOwner)
	switch {
	case how.At.node != nil:
		tr := e.trip(how.At.node.pool(how.At.use), r.arena)
		for i := range r.bounds {
			r.addTo(tr, i)
		}
		return e.trips[first:e.used], true
	case how.Replicas:
		return e.placeOnReplicas(t, r, how), false
	}
	placed = true
	if slices.Contains(r.slots, slots.NoKey) {
		home = t.Home()
	}
	r.groups, n = r.grouper.Group(r.groups, r.slots, &t.Owner, home, len(t.Nodes), how.BySlot)
	for range n {
		e.trip(nil, r.arena)
	}
	for i, g := range r.groups {
		if g < 0 {
			r.places[i] = place{err: t.Map.NoOwnerError(r.slots[i])}
			placed = false
			continue
		}
		tr := e.trips[first+int(g)]
		if tr.Len() == 0 {
			owner := home
			if r.slots[i] >= 0 {
				owner = t.Owner[r.slots[i]]
			}
			tr.pool = t.Nodes[owner].pool(asPrimary)
			tr.Key = int64(r.slots[i])
		}
		r.addTo(tr, i)
	}
	return e.trips[first:e.used], placed
}

// addTo adds the i-th command to the trip, and notes its place.
func (r *Request) addTo(t *trip, i int) {
	r.places[i] = place{trip: t, pos: t.Len()}
	if r.marks[i]&markSlow != 0 {
		t.Slow = true
	}
	if len(r.parts) == 0 {
		t.Add(r.bounds[i].from, r.bounds[i].to)
	}
	for _, part := range r.parts {
		t.Add(part.from, part.to)
	}
}

// send hands trips to their pools, and writes and reads what falls to the caller. If they are to go one after
// the other, it waits for each.
func (e *execution) send(ctx context.Context, trips []*trip, sequential bool) {
	if sequential && len(trips) > 1 {
		for i := range trips {
			e.send(ctx, trips[i:i+1], true)
			for e.open && ctx.Err() == nil {
				if complete, err := e.call.Next(ctx, nil); err == nil {
					e.open = !complete
				}
			}
		}
		return
	}
	if e.observed != nil {
		e.observed.begin(e.request, trips)
	}
	if err := ctx.Err(); err != nil {
		for _, t := range trips {
			t.Refuse(t.pool.Address(), err)
		}
		return
	}
	if e.request.own {
		e.submitOwn(ctx, trips[0])
		return
	}
	e.open = true
	e.call.More(len(trips))
	for _, t := range trips {
		if t.Len() >= largeTrip {
			t.Slow = true
		}
		if t.pool.Submit(&t.Batch) {
			e.call.Mine(&t.Batch)
		}
	}
	e.call.Flush()
	e.call.Read(ctx)
}

// await waits for the trips. It reports whether all have all replies, and no error among them.
func (e *execution) await(ctx context.Context) (clean bool) {
	if e.open {
		complete, err := e.call.Next(ctx, nil)
		if err != nil {
			e.leave(err)
			return false
		}
		if e.open = !complete; e.open {
			return false // a trip has ended with an error
		}
	}
	for _, t := range e.trips[:e.used] {
		if t.Failed() || t.Errors() > 0 {
			return false
		}
	}
	return true
}

// leave gives up the trips that are not known to be complete, at the context's end.
func (e *execution) leave(err error) {
	if !e.open || e.abandoned {
		return
	}
	e.abandoned, e.open = true, false
	for _, t := range e.trips[e.settled:e.used] {
		if !t.judged {
			t.pool.Abandon(&t.Batch, err)
		}
	}
}

// wait sleeps for d, until the context ends, until moved returns true with a new map, or until the client
// is closed. After that the next try fails at once. moved may be nil.
func (c *Client) wait(ctx context.Context, d time.Duration, moved func() bool) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		var change <-chan struct{}
		if moved != nil {
			c.mu.Lock()
			change = c.change // before the look, which then misses nothing
			c.mu.Unlock()
			if moved() {
				return nil
			}
		}
		select {
		case <-change:
		case <-timer.C:
			return nil
		case <-c.ctx.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
