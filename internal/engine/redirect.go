package engine

import (
	"time"

	"github.com/redislanes/redislanes/internal/attempt"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
)

// follow notes where a redirect sends the command and, for MOVED, the slot. One
// for another slot than the command's is not followed: what a script or a strange
// server makes up must not lead the client astray. One that leads nowhere else is a refusal, as is the
// next one after mostRedirects of them.
func (x *retry) follow(i int, to slots.Redirect, text []byte, addr string, now time.Time) attempt.Step {
	a, slot := &x.histories[i], x.request.slots[i]
	if to.Fate != fate.Ask {
		x.client.refresher.hint()
	}
	if slot != int32(to.Slot) {
		return attempt.Stands
	}
	place := x.client.placeOf(to)
	if f := to.From(addr, place); f == fate.Itself || f == fate.Nowhere {
		return x.judgeRefusal(i, f, text, addr, now)
	}
	var n *node
	if place != "" && a.hops < mostRedirects { // else servers that have not heard the same of the slot yet redirect in a circle
		n = x.client.named(place)
	}
	if n == nil { // also if there are too many nodes that no map has: the next refresh makes room
		return x.judgeRefusal(i, fate.Nowhere, text, addr, now)
	}
	a.hops++
	a.followed++
	a.to = route{node: n, asking: to.Fate == fate.Ask}
	if a.to.asking {
		a.why = wasAsked
		attempt.EachKey(x.request.command(i), func(key string) { x.byKey[key] = a.to })
		return attempt.Ask
	}
	a.why = wasMoved
	x.bySlot[slot] = a.to
	x.moves = append(x.moves, move{Slot: to.Slot, To: n})
	return attempt.Follow
}

// target returns where the command goes: to where a redirect sent it or, since commands must keep
// their order, to where the last MOVED sent another command of the slot, or the last ASK another
// command on its key; else by the map.
func (x *retry) target(t *topology, i int) (p *nodepool.Node, replica *node, asking bool, err error) {
	slot := x.request.slots[i]
	to := x.routeOf(i, slot)
	switch {
	case to.node != nil && to.use == asReplica:
		return to.node.pool(asReplica), to.node, false, nil
	case to.node != nil:
		return to.node.pool(asPrimary), nil, to.asking, nil
	case t.Primary(slot) == nil:
		return nil, nil, false, t.Map.NoOwnerError(slot)
	case x.request.writesTo(slot):
		return t.Primary(slot).pool(asPrimary), nil, false, nil
	}
	if p, replica = poolFor(t, slot, x.how, x.avoid); replica != nil && slot >= 0 {
		x.bySlot[slot] = route{node: replica, use: asReplica}
	}
	return p, replica, false, nil
}

// routeOf returns the command's route, without a node if it has none.
func (x *retry) routeOf(i int, slot int32) route {
	if slot < 0 {
		return x.histories[i].to
	}
	to, ok := x.bySlot[slot]
	if !ok {
		to = x.histories[i].to
	}
	if len(x.byKey) > 0 {
		attempt.EachKey(x.request.command(i), func(key string) {
			if asked, ok := x.byKey[key]; ok {
				to = asked
			}
		})
	}
	return to
}

// askingBounds returns where an ASKING is in the arena: behind all commands. The
// trips of this attempt must be made after it.
func (x *retry) askingBounds() bound {
	if x.asking.to == 0 {
		from := len(x.request.arena)
		x.request.arena = resp.AppendCommand(x.request.arena, "ASKING")
		x.asking = bound{from, len(x.request.arena)}
	}
	return x.asking
}
