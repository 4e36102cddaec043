package engine

import (
	"errors"
	"math"
	"net"
	"slices"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// judge decides about the i-th command by its last try.
func (x *retry) judge(i int, now time.Time) attempt.Step {
	reply, addr, err := x.request.lastTry(i)
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
		x.attempts[i].trouble = nil
		if x.request.sendText(i) {
			x.attempts[i].why = wasUnknownScript
			return attempt.Follow
		}
		return attempt.Ran
	case to.Fate == fate.Moved, to.Fate == fate.Ask, to.Fate == fate.Nowhere:
		return x.follow(i, to, text, addr, now)
	case to.Fate.Passes():
		return x.judgeRefusal(i, to.Fate, text, addr, now)
	case to.Fate.Refused():
		x.attempts[i].trouble = nil
		return attempt.Stands
	}
	if attempt.Stale(to.Fate, text, x.replicaOf(i) != nil) {
		x.request.places[i].trip.pool.Renew()
		x.client.hint()
	}
	// Not a success: the server may say so before it looks whether it may write.
	x.attempts[i].trouble = nil
	return attempt.Ran
}

// succeeded notes that the server runs commands.
func (x *retry) succeeded(i int, addr string) {
	x.attempts[i].trouble = nil
	r := x.request
	x.client.troubles.succeeded(addr, r.sort(i), r.slots[i], r.command(i), r.places[i].trip.sent)
}

// judgeRefusal decides for a command that the server refused for now, or redirected to no
// other server.
func (x *retry) judgeRefusal(i int, f fate.Fate, text []byte, addr string, now time.Time) attempt.Step {
	if attempt.Stale(f, text, x.replicaOf(i) != nil) {
		x.request.places[i].trip.pool.Renew()
	} else if f == fate.ReadOnly {
		x.how.Replicas = false // no replica writes
	}
	x.attempts[i].replica = f == fate.ReadOnly && x.client.topology.Load().Single
	at := siteOf(f, addr, x.request.sort(i), x.request.slots[i], x.request.command(i))
	t := x.client.troubles.note(at, wire.ErrorCode(text), x.attempts[i].since(at), now)
	return x.inTrouble(i, wasRefused, t, now)
}

// siteOf returns whose trouble the refusal of a command is.
func siteOf(f fate.Fate, addr string, s sort, slot int32, command []byte) site {
	switch {
	case (f == fate.Unserved || f == fate.Nowhere) && slot >= 0:
		return site{slot: slot}
	case f == fate.TryAgain && slot >= 0:
		return site{slot: slot, command: fingerprint(command)}
	}
	return site{addr: addr, sort: s}
}

// since returns since when the command itself has met trouble at the site, zero
// if it has not: not all troubles are remembered.
func (a *history) since(at site) time.Time {
	if a.trouble != nil && a.trouble.site == at {
		return a.trouble.since
	}
	return time.Time{}
}

// judgeFailure decides for a command without a reply.
func (x *retry) judgeFailure(i int, addr string, err error, now time.Time) attempt.Step {
	r := x.request
	again, final := attempt.Unanswered(err, r.marks[i]&markRepeatable != 0, isAmbiguous(err), runsScript(r.command(i)))
	if !again {
		return final
	}
	because := wasNotSent
	if final == attempt.Ran {
		because = wasUnknown
		x.doubt(i, err)
	}
	if !x.client.passes(err, x.replicaOf(i) != nil) {
		return final
	}
	t := x.client.unanswered(err, addr, x.request.sort(i), x.request.slots[i], now)
	if s := x.inTrouble(i, because, t, now); s.Again() {
		return s
	}
	return final
}

// replicaOf returns the replica that the i-th command was sent to; nil if there is none.
func (x *retry) replicaOf(i int) *node {
	if t := x.request.places[i].trip; t != nil {
		return t.replica
	}
	return nil
}

// inTrouble applies the one rule for all troubles.
func (x *retry) inTrouble(i int, because why, t trouble, now time.Time) attempt.Step {
	x.client.hint()
	a := &x.attempts[i]
	a.why, a.hops, a.trouble = because, 0, &t
	a.replica = a.replica && because == wasRefused
	replica := x.replicaOf(i)
	if replica != nil && !slices.Contains(x.avoid, replica) {
		x.avoid = append(x.avoid, replica)
	}
	return t.outage().Next(replica != nil || x.givesUp, now, x.had, x.client.cfg.DownGrace)
}

// unanswered notes the trouble of a command that got no reply because of err.
func (c *Client) unanswered(err error, addr string, s sort, slot int32, now time.Time) trouble {
	if errors.Is(err, redislanes.ErrNoOwner) {
		return c.troubles.noteGap(c.topology.Load(), slot, now)
	}
	if slot == slots.NoKey && errors.Is(err, redislanes.ErrDown) {
		c.leaveHome(addr)
	}
	t := c.troubles.note(site{addr: addr, sort: s}, refusedDial(err), beganAt(err), now)
	t.silent = isSilence(err)
	return t
}

// refusedDial returns the code with which a server refuses connections for now, as while it
// loads its data; "" if none can be made. Connections from before may be answered.
func refusedDial(err error) string {
	if text := saidIn(err); fate.Of([]byte(text)).Passes() {
		return wire.ErrorCode([]byte(text))
	}
	return ""
}

// Hopeless returns the error of a command that writes to the slot, if it would fail
// at once, sent now by a call that ends at the deadline, zero for never; nil if it
// may be sent, or is to wait. It is for callers that would have to wait before they
// send. While the slot's node is up, it costs a few atomic loads.
func (c *Client) Hopeless(command string, slot uint16, deadline time.Time) error {
	n := c.topology.Load().Primary(int32(slot))
	if n == nil {
		return nil // whose slot it is may be known by the time it is sent
	}
	p := n.pools[asPrimary].Load()
	if p == nil {
		return nil
	}
	down := p.Down()
	if down == nil {
		return nil
	}
	c.noteFailure(down)
	err := wire.NotSent(n.addr, down)
	if c.passes(down, false) {
		now := time.Now()
		met := c.unanswered(down, n.addr, writing, int32(slot), now)
		left := time.Duration(math.MaxInt64)
		if !deadline.IsZero() {
			left = deadline.Sub(now)
		}
		if met.outage().MayRetry(now, left, c.cfg.DownGrace) {
			return nil
		}
		err = &redislanes.TroubleError{Where: met.String(), Since: met.since, For: now.Sub(met.since), Err: err}
	}
	return &redislanes.CommandError{Command: command, Addr: n.addr, Err: err}
}

// isSilence tells whether the server is down because it says nothing, rather than
// that it refuses connections or has closed them.
func isSilence(err error) bool {
	var late net.Error
	return errors.Is(err, redislanes.ErrDown) &&
		(errors.Is(err, redislanes.ErrSuspect) || errors.Is(err, redislanes.ErrStalled) || errors.As(err, &late) && late.Timeout())
}

// beganAt returns since when the pool knows of the trouble, zero if it does not
// say.
func beganAt(err error) time.Time {
	var dead *redislanes.DownError
	if errors.As(err, &dead) {
		return dead.Since
	}
	return time.Time{}
}

// passes tells whether there is any use in sending a command again that got no
// reply, because of err, or on the primary, if that was a replica's.
func (c *Client) passes(err error, replica bool) bool {
	if errors.Is(err, redislanes.ErrExhausted) || c.ctx.Err() != nil {
		return false // the service wants to know at once
	}
	var refused *redislanes.HandshakeError // a Dialer.Password that is wrong does not get better
	return replica || !errors.As(err, &refused) || wire.Passes(refused)
}

// follow notes where a redirect sends the command and, for MOVED, the slot. One
// for another slot than the command's is not followed: what a script or a strange
// server makes up must not lead the client astray. One that leads nowhere else is a refusal.
func (x *retry) follow(i int, to slots.Redirect, text []byte, addr string, now time.Time) attempt.Step {
	a, slot := &x.attempts[i], x.request.slots[i]
	if to.Fate != fate.Ask || x.how.noFollow {
		x.client.hint()
	}
	if slot != int32(to.Slot) {
		return attempt.Stands
	}
	at := x.placed(to)
	if f := to.From(addr, at.place); f == fate.Itself || f == fate.Nowhere {
		return x.judgeRefusal(i, f, text, addr, now)
	}
	if x.how.noFollow || a.hops >= x.client.cfg.MaxRedirects {
		return attempt.Stands
	}
	n := x.nodeAt(at)
	if n == nil {
		return attempt.Stands
	}
	a.hops++
	a.to = route{node: n, asking: to.Fate == fate.Ask}
	x.bySlot[slot] = a.to
	if a.to.asking {
		a.why = wasAsked
		return attempt.Ask
	}
	a.why = wasMoved
	x.moves = append(x.moves, move{Slot: to.Slot, To: n})
	return attempt.Follow
}

// A leading is where a redirect leads. It is looked up once for commands that are judged
// together.
type leading struct {
	place string // "": nowhere
	node  *node  // nil: none was asked for, or there is none
	asked bool
}

// placed returns where a redirect leads.
func (x *retry) placed(to slots.Redirect) *leading {
	at := slots.NodeAddr{Addr: to.Addr, Dialled: to.Dialled}
	l, ok := x.named[at]
	if !ok {
		l = &leading{place: x.client.leadsTo(to)}
		x.named[at] = l
	}
	return l
}

// nodeAt returns the node there, nil if there is none.
func (x *retry) nodeAt(l *leading) *node {
	if !l.asked && l.place != "" {
		l.node = x.client.node(l.place)
	}
	l.asked = true
	return l.node
}

// target returns where the command goes: to where a redirect sent it or, since
// commands of one slot must keep their order, where the last redirect sent
// another command of the slot; else by the map.
func (x *retry) target(t *topology, i int) (p *nodepool.Pool, replica *node, asking bool, err error) {
	slot := x.request.slots[i]
	to, ok := x.bySlot[slot]
	if slot < 0 || !ok {
		to = x.attempts[i].to
	}
	switch {
	case to.node != nil && to.use == asReplica:
		return to.node.pool(asReplica), to.node, false, nil
	case to.node != nil:
		return to.node.pool(asPrimary), nil, to.asking, nil
	case t.Primary(slot) == nil:
		return nil, nil, false, t.Map.NoOwnerError(slot)
	}
	p, replica = x.client.poolFor(t, slot, x.how, x.avoid)
	if replica == nil {
		x.how.Replicas, x.patience = false, time.Time{}
	} else if slot >= 0 {
		x.bySlot[slot] = route{node: replica, use: asReplica}
	}
	return p, replica, false, nil
}

// askingBounds returns where an ASKING is in the arena: behind all commands. The
// trips of this wave must be made after it.
func (x *retry) askingBounds() bound {
	if x.asking.to == 0 {
		from := len(x.request.arena)
		x.request.arena = resp.AppendCommand(x.request.arena, "ASKING")
		x.asking = bound{from, len(x.request.arena)}
	}
	return x.asking
}

// errSilent is why a replica's answer is not waited for any more.
var errSilent = errors.New("the replica is silent")
