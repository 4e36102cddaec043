package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/redislanes/redislanes"
)

// Observers returns an Observer that tells all of the given ones, in their order, of
// all that each of them implements. Of contexts, each adds to that of the one
// before it. A panic in one of them keeps those behind it from being told of that.
// Those that are nil are left out; without any, it returns nil.
func Observers(observers ...Observer) Observer {
	var all several
	for _, o := range observers {
		if o != nil {
			all = append(all, o)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// several is what Observers returns.
type several []Observer

var (
	_ ContextObserver  = several{}
	_ TopologyObserver = several{}
	_ StatsObserver    = several{}
)

func (all several) Pool(p PoolInfo) PoolObserver {
	var pools severalPools
	grouped := false
	for _, o := range all {
		if of := o.Pool(p); of != nil {
			pools = append(pools, of)
			_, ok := of.(GroupObserver)
			grouped = grouped || ok
		}
	}
	switch {
	case len(pools) == 0:
		return nil
	case len(pools) == 1:
		return pools[0]
	case grouped:
		return severalGroups{pools}
	}
	return pools // groups cost something, and nobody wants to be told of them
}

// Request is not called: it is a ContextObserver.
func (all several) Request(RequestInfo) {}

func (all several) BeginRequest(ctx context.Context, s RequestStart) context.Context {
	for _, o := range all {
		if c, ok := o.(ContextObserver); ok {
			if next := c.BeginRequest(ctx, s); next != nil {
				ctx = next
			}
		}
	}
	return ctx
}

func (all several) EndRequest(ctx context.Context, s RequestStart, r RequestInfo) {
	for _, o := range all {
		if c, ok := o.(ContextObserver); ok {
			c.EndRequest(ctx, s, r)
		} else if !s.Lent {
			o.Request(r)
		}
	}
}

func (all several) TopologyChanged(c TopologyChange) {
	for _, o := range all {
		if t, ok := o.(TopologyObserver); ok {
			t.TopologyChanged(c)
		}
	}
}

func (all several) ReadStats(stats func() redislanes.Stats) error {
	var failed []error
	for _, o := range all {
		if s, ok := o.(StatsObserver); ok {
			failed = append(failed, s.ReadStats(stats))
		}
	}
	return errors.Join(failed...)
}

// severalPools is what several observers are told of one pool.
type severalPools []PoolObserver

var (
	_ ConnObserver = severalPools{}
	_ DialObserver = severalPools{}
)

func (all severalPools) Waited(wait time.Duration) {
	for _, p := range all {
		p.Waited(wait)
	}
}

func (all severalPools) Left() {
	for _, p := range all {
		p.Left()
	}
}

func (all severalPools) Dialed(took time.Duration, err error) {
	for _, p := range all {
		if c, ok := p.(ConnObserver); ok {
			c.Dialed(took, err)
		}
	}
}

func (all severalPools) Closed(reason string, open time.Duration, err error) {
	for _, p := range all {
		if c, ok := p.(ConnObserver); ok {
			c.Closed(reason, open, err)
		}
	}
}

func (all severalPools) DialEnded(d DialInfo) {
	for _, p := range all {
		if o, ok := p.(DialObserver); ok {
			o.DialEnded(d)
		}
	}
}

// severalGroups is severalPools that are told of groups.
type severalGroups struct{ severalPools }

var _ GroupObserver = severalGroups{}

func (all severalGroups) BeginGroup(ctx context.Context, s GroupStart) context.Context {
	for _, p := range all.severalPools {
		if g, ok := p.(GroupObserver); ok {
			if next := g.BeginGroup(ctx, s); next != nil {
				ctx = next
			}
		}
	}
	return ctx
}

func (all severalGroups) EndGroup(ctx context.Context, s GroupStart, i GroupInfo) {
	for _, p := range all.severalPools {
		if g, ok := p.(GroupObserver); ok {
			g.EndGroup(ctx, s, i)
		}
	}
}
