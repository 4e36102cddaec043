package engine

import (
	"slices"
	"time"

	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// judge decides about the i-th command by its last try.
func (x *retry) judge(i int, now time.Time) attempt.Step {
	reply, err := x.request.lastTry(i)
	addr := x.request.Node(i)
	switch {
	case err != nil:
		return x.judgeFailure(i, addr, err, now)
	case !resp.IsError(reply):
		x.succeeded(i, addr)
		return attempt.Ran
	}
	text := resp.ErrorText(reply)
	to := slots.ParseRedirect(text, addr)
	switch {
	case to.Fate == fate.NoScript:
		x.histories[i].outage = nil
		if x.request.sendText(i) {
			x.histories[i].why = wasUnknownScript
			return attempt.Follow
		}
		return attempt.Ran
	case to.Fate == fate.Moved, to.Fate == fate.Ask, to.Fate == fate.Nowhere:
		return x.follow(i, to, text, addr, now)
	case to.Fate.Passes():
		return x.judgeRefusal(i, to.Fate, text, addr, now)
	}
	x.replaceStale(i, to.Fate, text)
	x.histories[i].outage = nil
	if to.Fate.Refused() {
		return attempt.Stands
	}
	// Not a success: the server may say so before it looks whether it may write.
	return attempt.Ran
}

// succeeded notes that the server runs commands.
func (x *retry) succeeded(i int, addr string) {
	x.histories[i].outage = nil
	r := x.request
	x.client.outages.succeeded(addr, r.class(i), r.places[i].trip.sent)
}

// judgeRefusal decides for a command that the server refused for now, or redirected to no
// other server. After a redirect to the replier itself, the pool replaces its connections. Then the
// command goes again at once, as after other redirects.
func (x *retry) judgeRefusal(i int, f fate.Fate, text []byte, addr string, now time.Time) attempt.Step {
	if f == fate.ReadOnly {
		x.how.Replicas = false // no replica writes
	}
	if a := &x.histories[i]; x.replaceStale(i, f, text) && f == fate.Itself && a.hops < mostRedirects {
		a.hops++
		a.why, a.outage = wasRefused, nil
		return attempt.Follow
	}
	at := siteOf(f, addr, x.request.class(i), x.request.slots[i])
	return x.inOutage(i, wasRefused, x.client.refused(&x.histories[i], at, f, text, now), now)
}

// replaceStale calls [Client.replaceStale] for the error reply to the i-th command. It reports whether
// that command, or one that is judged with it, has had the connections replaced.
func (x *retry) replaceStale(i int, f fate.Fate, text []byte) (replaced bool) {
	p := x.request.places[i].trip.pool
	if x.client.replaceStale(p, f, text, x.replicaOf(i) != nil, x.sent) {
		x.replaced[p] = true
	}
	return x.replaced[p]
}

// replaceStale replaces the connections of the pool if the error reply says that they are stale. The
// command was sent at the time. replaceStale reports whether the connections were replaced after it.
func (c *Client) replaceStale(p *nodepool.Node, f fate.Fate, text []byte, replica bool, sent time.Time) (replaced bool) {
	if !attempt.Stale(f, text, replica) {
		return false
	}
	c.hint()
	return p.Renew(sent)
}

// refused returns the outage of a command that the server has refused for now. It notes that of a
// node. That of a slot begins when the command itself is refused first.
func (c *Client) refused(h *history, at site, f fate.Fate, text []byte, now time.Time) outage {
	h.replica = f == fate.ReadOnly && c.topology.Load().Single
	since := h.since(at)
	if at.addr != "" {
		return c.outages.note(at, wire.ErrorCode(text), since, now)
	}
	if since.IsZero() {
		since = now
	}
	return outage{site: at, Outage: attempt.Outage{Since: since}}
}

// siteOf returns the site of the outage that a refusal of the command belongs to.
func siteOf(f fate.Fate, addr string, s class, slot int32) site {
	if slot >= 0 && (f == fate.Unserved || f == fate.Nowhere || f == fate.TryAgain) {
		return site{slot: slot}
	}
	return site{addr: addr, class: s}
}

// replicaOf returns the replica that the i-th command was sent to; nil if there is none.
func (x *retry) replicaOf(i int) *node {
	if t := x.request.places[i].trip; t != nil {
		return t.replica
	}
	return nil
}

// inOutage applies the one rule for retries to a command that has met the outage.
func (x *retry) inOutage(i int, because why, t outage, now time.Time) attempt.Step {
	x.client.hint()
	a := &x.histories[i]
	a.why, a.hops, a.outage = because, 0, &t
	a.replica = a.replica && because == wasRefused
	replica := x.replicaOf(i)
	if replica != nil && !slices.Contains(x.avoid, replica) {
		x.avoid = append(x.avoid, replica)
	}
	return t.Next(replica != nil, now, x.budget, x.client.cfg.RetryWindow)
}
