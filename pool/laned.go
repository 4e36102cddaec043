package pool

import (
	"fmt"

	"github.com/redislanes/redislanes/lanes"
)

// Laned is a pool of a few connections that all callers share: batches of many
// callers travel together, so that one write and one read serve many. A
// command that needs a connection of its own (a blocking one, a transaction)
// is lent an extra one. Batches that are marked as slow have lanes of their own,
// so that the others do not queue behind them.
type Laned struct {
	// Lanes is the number of shared connections to each server. Default 4.
	Lanes int

	// Strategy chooses the lane for each batch, but for slow ones, which take
	// the least used of their lanes. Default lanes.FirstFit.
	Strategy lanes.Strategy

	// SlowLanes is the number of shared connections to each server for slow
	// commands, besides Lanes. They are dialled when the first slow command
	// comes. Package cluster says which commands are slow; for a pool that is
	// used by itself, or under radix's own Cluster, none is. MaxInFlight holds
	// for each of these lanes, and MaxWaiters for a queue of their own. Default 2.
	SlowLanes int

	// NoSlowLanes makes slow commands travel with all others. SlowLanes must be
	// 0 then.
	NoSlowLanes bool

	// MaxInFlight is how many batches may be in flight on one lane; beyond it
	// they wait. Default 1,024.
	MaxInFlight int

	// MaxLent is how many extra connections may be lent at a time. They are
	// dialled on demand and closed when idle. Default 50.
	MaxLent int

	Options
}

const (
	defaultLanes       = 4
	defaultSlowLanes   = 2
	defaultMaxInFlight = 1024
)

func (l Laned) settings() (settings, error) {
	orDefault(&l.Lanes, defaultLanes)
	orDefault(&l.MaxInFlight, defaultMaxInFlight)
	orDefault(&l.MaxLent, DefaultSize)
	if !l.NoSlowLanes {
		orDefault(&l.SlowLanes, defaultSlowLanes)
	}
	if l.Strategy == nil {
		l.Strategy = lanes.FirstFit
	}
	l.Options = l.withDefaults()
	err := firstError(notNegative("Laned", "Lanes", l.Lanes), notNegative("Laned", "MaxInFlight", l.MaxInFlight),
		notNegative("Laned", "MaxLent", l.MaxLent), l.validateSlow(), l.validate("Laned"))
	return settings{
		Options: l.Options, kind: "laned", min: l.Lanes, max: l.Lanes,
		shared: true, strategy: l.Strategy, maxInFlight: l.MaxInFlight, maxLent: l.MaxLent,
		slowLanes: l.SlowLanes,
	}, err
}

func (l Laned) validateSlow() error {
	if l.NoSlowLanes && l.SlowLanes > 0 {
		return fmt.Errorf("pool: Laned.SlowLanes = %d although NoSlowLanes is set: leave one of them out", l.SlowLanes)
	}
	return notNegative("Laned", "SlowLanes", l.SlowLanes)
}

// lentSettings are those of the extra connections that a shared pool lends.
func (s settings) lentSettings() settings {
	return settings{Options: s.Options, kind: "lent", min: 0, max: s.maxLent, idleTimeout: defaultIdleTimeout, maxInFlight: 1}
}
