package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/guard"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// judge decides about the i-th command by its last try.
func (x *retry) judge(i int, now time.Time) attempt.Step {
	reply, err := x.request.lastTry(i)
	addr := x.request.Node(i)
	h := &x.histories[i]
	switch {
	case err != nil:
		return x.judgeFailure(i, addr, err, now)
	case !resp.IsError(reply):
		h.Answered()
		x.client.answered(addr, x.request.slots[i], x.request.writes(i))
		return attempt.Ran
	}
	text := resp.ErrorText(reply)
	to := slots.ParseRedirect(text, addr)
	switch {
	case to.Fate == fate.NoScript:
		h.Answered()
		if x.request.sendText(i) {
			h.why = wasUnknownScript
			return attempt.Follow
		}
		return attempt.Ran
	case to.Fate == fate.Moved, to.Fate == fate.Ask, to.Fate == fate.Nowhere:
		return x.follow(i, to, text, addr, now)
	case to.Fate.Passes():
		return x.judgeRefusal(i, to.Fate, text, addr, now)
	}
	x.client.replaceStale(x.request.places[i].trip.pool, to.Fate, text, x.replicaOf(i) != nil, x.sent)
	h.Answered()
	if to.Fate.Refused() {
		return attempt.Stands
	}
	return attempt.Ran
}

// judgeFailure decides for a command without a reply.
func (x *retry) judgeFailure(i int, addr string, err error, now time.Time) attempt.Step {
	r, p := x.request, x.request.places[i]
	f := x.client.failure(addr, r.slots[i], err, now)
	f.Repeatable, f.Replica = r.marks[i]&Repeatable != 0, x.replicaOf(i) != nil
	f.Due = p.trip != nil && p.trip.Due(p.pos)
	f.Final = f.Final && !f.Replica || isFinal(err, f.Due)
	because := wasNotSent
	if f.Lost {
		because = wasUnknown
		x.mayHaveRun(i, err)
	}
	return x.next(i, because, f)
}

// judgeRefusal decides for a command that the server refused for now, or redirected to no
// other server. After a redirect to the replier itself, the pool replaces its connections. Then the
// command goes again at once, as after other redirects.
func (x *retry) judgeRefusal(i int, f fate.Fate, text []byte, addr string, now time.Time) attempt.Step {
	if f == fate.ReadOnly {
		x.how.Replicas = false // no replica writes
	}
	a := &x.histories[i]
	p := x.request.places[i].trip.pool
	if x.client.replaceStale(p, f, text, x.replicaOf(i) != nil, x.sent) && f == fate.Itself && a.hops < mostRedirects {
		a.hops++
		a.why = wasRefused
		return attempt.Follow
	}
	met := x.client.refused(f, text, addr, x.request.slots[i], x.replicaOf(i) != nil, now)
	return x.next(i, wasRefused, met)
}

// next applies the rule for retries to the i-th command.
func (x *retry) next(i int, because why, f attempt.Failure) attempt.Step {
	if !f.Final {
		x.client.refresher.hint()
	}
	a := &x.histories[i]
	a.why, a.hops = because, 0
	if replica := x.replicaOf(i); replica != nil && !slices.Contains(x.avoid, replica) {
		x.avoid = append(x.avoid, replica)
	}
	return a.Next(f, x.client.cfg.RetryWindow)
}

// replaceStale replaces the connections of the pool if the error reply says that they are stale. The
// command was sent at the time. replaceStale reports whether the connections were replaced after it.
func (c *Client) replaceStale(p *nodepool.Node, f fate.Fate, text []byte, replica bool, sent time.Time) (replaced bool) {
	if !attempt.Stale(f, text, replica) {
		return false
	}
	c.refresher.hint()
	return p.Renew(sent)
}

// replicaOf returns the replica that the i-th command was sent to; nil if there is none.
func (x *retry) replicaOf(i int) *node {
	if t := x.request.places[i].trip; t != nil {
		return t.replica
	}
	return nil
}

// refused returns the failure of a command that the node has refused for now, and notes since when
// it does. A replica's refusals are not noted: another node answers.
func (c *Client) refused(f fate.Fate, text []byte, addr string, slot int32, replica bool, now time.Time) attempt.Failure {
	met := attempt.Failure{At: now, Site: attempt.AtNode(addr), Replica: replica}
	if slot >= 0 && (f == fate.Unserved || f == fate.Nowhere || f == fate.TryAgain) {
		met.Site = attempt.AtSlot(slot)
	}
	if replica {
		return met
	}
	since, tell := c.refusals.refused(f, addr, slot, now)
	if tell {
		c.log.Note(guard.Outage, attempt.AtNode(addr).String(), now.Sub(since), wire.ErrorCode(text),
			"are retried within RetryWindow, then fail at once")
	}
	met.Since = since
	return met
}

// failure returns the failure of a command that got no reply because of err. Final says that trying
// again is of no use at the same node. Since when a node is down, its pool knows.
func (c *Client) failure(addr string, slot int32, err error, now time.Time) attempt.Failure {
	if errors.Is(err, redislanes.ErrNoOwner) {
		since, _ := c.refusals.refused(fate.Unserved, "", slot, now)
		return attempt.Failure{At: now, Site: attempt.AtSlot(slot), Since: since, Final: c.ctx.Err() != nil}
	}
	f := attempt.Failure{At: now, Site: attempt.AtNode(addr), Lost: !errors.Is(err, redislanes.ErrNotSent)}
	var dead *cause.Down
	if errors.As(err, &dead) {
		f.Since = dead.Since
	}
	refused := wire.Refusal(err) // a Dialer.Password that is wrong does not get better
	f.Final = c.ctx.Err() != nil || refused != nil && !wire.Passes(refused)
	return f
}

// isFinal reports whether trying a command again is of no use at any node: the service wants to know
// at once that its pool is exhausted, and a reply beyond the limits would come again. Of the
// commands on a connection that ends with such a reply, only the one that it is for was due.
func isFinal(err error, due bool) bool {
	return errors.Is(err, redislanes.ErrExhausted) || due && errors.Is(err, resp.ErrLimit)
}

// answered notes that a command for the slot has succeeded at the node, and whether it certainly wrote.
func (c *Client) answered(addr string, slot int32, wrote bool) {
	if c.refusals.open.Load() == 0 {
		return
	}
	if since, told := c.refusals.answered(addr, slot, wrote); told {
		c.log.Note(guard.OutageOver, attempt.AtNode(addr).String(), time.Since(since))
	}
}

// noteAnswers is answered for the commands of a request that were not judged one by one.
func (r *Request) noteAnswers(c *Client) {
	for i := range r.places {
		t := r.places[i].trip
		if t != nil && !t.judged && !t.Failed() && t.Errors() == 0 {
			c.answered(t.pool.Address(), r.slots[i], r.writes(i))
		}
	}
}

// writes reports whether the i-th command certainly writes to a key. A script may only read.
func (r *Request) writes(i int) bool {
	return r.slots[i] >= 0 && r.marks[i]&(Reads|markMayWrite) == 0
}

// Each failure asks for a refresh of the map, on whatever path it leaves the engine: requests
// (Client.Exec) and dedicated connections (Client.WithConn). Without this, a side
// path keeps asking a node that has left the cluster until the next regular refresh.

// NoteFailure asks for a refresh because of err, unless that says nothing of the map of the slots: the caller
// has left, its own pool is full, the program has made a mistake, or the server has answered.
func (c *Client) NoteFailure(err error) {
	if err != nil && !saysNothing(err) {
		c.refresher.hint()
	}
}

func saysNothing(err error) bool {
	if said, answered := cause.SaidIn(err); answered && wire.Refusal(err) == nil {
		return !hintsAt([]byte(said))
	}
	for _, own := range [...]error{context.Canceled, redislanes.ErrExhausted, redislanes.ErrShared, redislanes.ErrDecode, cause.ErrReturned} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// hintsAt reports whether a server's error is about more than the command: it, or another
// node, might run it.
func hintsAt(text []byte) bool { return fate.Of(text).Passes() || fate.SaysReplica(text) }

// noteOutcomes is NoteFailure for the commands of a request.
func (r *Request) noteOutcomes(c *Client) {
	var failed *trip // the last one; its other commands failed for the same cause
	for i := range r.places {
		if t := r.places[i].trip; t != nil && t == failed {
			continue
		}
		if _, err := r.outcome(i); err != nil {
			failed = r.places[i].trip
			c.NoteFailure(err)
		}
	}
}
