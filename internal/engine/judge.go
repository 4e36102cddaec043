package engine

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
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
