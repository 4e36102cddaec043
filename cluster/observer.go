package cluster

import (
	"context"

	"github.com/redislanes/redislanes/internal/engine"
	"github.com/redislanes/redislanes/internal/nodepool"
)

// observer is an Observer as the engine calls it.
type observer struct{ Observer }

func (o observer) Pool(p engine.PoolInfo) engine.PoolObserver {
	of := o.Observer.Pool(PoolInfo(p))
	if of == nil {
		return nil
	}
	return poolObserver{of}
}

func (o observer) Request(r engine.RequestInfo) { o.Observer.Request(requestInfo(r)) }

// contexts is a ContextObserver as the engine calls it.
type contexts struct{ ContextObserver }

func (c contexts) BeginRequest(ctx context.Context, s engine.RequestStart) context.Context {
	return c.ContextObserver.BeginRequest(ctx, requestStart(s))
}

func (c contexts) EndRequest(ctx context.Context, s engine.RequestStart, r engine.RequestInfo) {
	c.ContextObserver.EndRequest(ctx, requestStart(s), requestInfo(r))
}

// topologies is a TopologyObserver as the engine calls it.
type topologies struct{ TopologyObserver }

func (t topologies) TopologyChanged(c engine.TopologyChange) {
	change := TopologyChange{Joined: c.Joined, Left: c.Left, Moved: c.Moved, Owned: c.Owned}
	for _, m := range c.Moves {
		change.Moves = append(change.Moves, SlotsMoved(m))
	}
	t.TopologyObserver.TopologyChanged(change)
}

// poolObserver is a PoolObserver as the engine calls it.
type poolObserver struct{ PoolObserver }

func (o poolObserver) Parts() (p engine.PoolParts) {
	if conns, ok := o.PoolObserver.(ConnObserver); ok {
		p.Conns = conns
	}
	if d, ok := o.PoolObserver.(DialObserver); ok {
		p.Dials = dials{d}
	}
	if g, ok := o.PoolObserver.(GroupObserver); ok {
		p.Groups = groups{g}
	}
	return p
}

type dials struct{ DialObserver }

func (d dials) DialEnded(i nodepool.DialInfo) {
	d.DialObserver.DialEnded(DialInfo{
		Began: i.Began, Took: i.Took, Err: i.Err,
		Connect: i.Steps.Connect, TLS: i.Steps.TLS, Handshake: i.Steps.Handshake,
	})
}

type groups struct{ GroupObserver }

func (g groups) BeginGroup(ctx context.Context, s engine.GroupStart) context.Context {
	return g.GroupObserver.BeginGroup(ctx, groupStart(s))
}

func (g groups) EndGroup(ctx context.Context, s engine.GroupStart, i engine.GroupInfo) {
	info := GroupInfo{Took: i.Took, Bytes: i.Bytes, Failed: i.Failed, Outcome: Outcome(i.Outcome), Code: i.Code, Err: i.Err}
	g.GroupObserver.EndGroup(ctx, groupStart(s), info)
}

func requestStart(s engine.RequestStart) RequestStart {
	return RequestStart{Commands: s.Commands, Lent: s.Lent, names: s.Names}
}

func requestInfo(r engine.RequestInfo) RequestInfo {
	return RequestInfo{
		Took: r.Took, Commands: r.Commands, Failed: r.Failed, Trips: r.Trips, Outcome: Outcome(r.Outcome),
		Retries: r.Retries, Redirects: r.Redirects, Addr: r.Addr, Code: r.Code, Err: r.Err,
	}
}

func groupStart(s engine.GroupStart) GroupStart {
	return GroupStart{
		Commands: s.Commands, Bytes: s.Bytes, Wave: s.Wave, Groups: s.Groups,
		Retried: s.Retried, Redirected: s.Redirected, Lent: s.Lent, names: s.Names,
	}
}
