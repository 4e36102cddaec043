package nodepool

import (
	"fmt"
	"time"

	"github.com/redislanes/redislanes/lanes"
)

// Laned is pool.Laned.
type Laned struct {
	Lanes, MaxLanes int
	IdleTimeout     time.Duration
	Strategy        lanes.Strategy
	SlowLanes       int
	NoSlowLanes     bool
	MaxInFlight     int
	MaxQueuedBytes  int
	MaxLent         int

	Options
}

const (
	defaultLanes       = 4
	defaultSlowLanes   = 2
	defaultMaxInFlight = 1024

	defaultMaxQueuedBytes = 8 << 20
	mostQueuedBytes       = 1 << 30

	// laneDepth is the number of batches in flight at which a lane counts as
	// fully used. It is half of what lanes.FirstFit packs onto a lane, so that
	// FirstFit finds a lane to spill to before a range of lanes has grown as
	// well as after it; with strategies that spread the load it bounds the
	// queue before a batch. MaxInFlight, at which callers wait, is four times
	// as much: lanes are added long before.
	laneDepth = 256
)

func (l Laned) settings() (settings, error) {
	if l.MaxLanes > 0 {
		orDefault(&l.Lanes, min(defaultLanes, l.MaxLanes))
	}
	orDefault(&l.Lanes, defaultLanes)
	orDefault(&l.MaxLanes, l.Lanes)
	orDefault(&l.IdleTimeout, defaultIdleTimeout)
	orDefault(&l.MaxInFlight, defaultMaxInFlight)
	orDefault(&l.MaxQueuedBytes, defaultMaxQueuedBytes)
	orDefault(&l.MaxLent, DefaultSize)
	if !l.NoSlowLanes {
		orDefault(&l.SlowLanes, defaultSlowLanes)
	}
	if l.Strategy == nil {
		l.Strategy = lanes.FirstFit
	}
	l.Options = l.withDefaults()
	err := firstError(inRange("Laned", "Lanes", l.Lanes, mostLanes), inRange("Laned", "MaxLanes", l.MaxLanes, mostLanes), inRange("Laned", "MaxInFlight", l.MaxInFlight, mostInFlight),
		inRange("Laned", "MaxLent", l.MaxLent, mostConnections), inRange("Laned", "MaxQueuedBytes", l.MaxQueuedBytes, mostQueuedBytes), l.validateSlow(), l.validateRange(), l.validate("Laned"))
	return settings{
		Options: l.Options, kind: "laned", min: l.Lanes, max: l.MaxLanes, idleTimeout: l.IdleTimeout,
		shared: true, strategy: l.Strategy, maxInFlight: l.MaxInFlight, maxQueued: l.MaxQueuedBytes, maxLent: l.MaxLent,
		slowLanes: l.SlowLanes,
	}, err
}

func (l Laned) validateRange() error {
	switch {
	case l.Lanes > l.MaxLanes:
		return fmt.Errorf("pool: Laned.Lanes = %d is more than MaxLanes = %d", l.Lanes, l.MaxLanes)
	case l.IdleTimeout < 0:
		return fmt.Errorf("pool: Laned.IdleTimeout = %v: must not be negative", l.IdleTimeout)
	}
	return nil
}

func (l Laned) validateSlow() error {
	if l.NoSlowLanes && l.SlowLanes > 0 {
		return fmt.Errorf("pool: Laned.SlowLanes = %d although NoSlowLanes is set: leave one of them out", l.SlowLanes)
	}
	return inRange("Laned", "SlowLanes", l.SlowLanes, mostLanes)
}

// inCluster: lanes are shared, so the default is the same everywhere.
func (l Laned) inCluster() Config { return l }

// The kinds of the pools inside a laned one.
const (
	kindLent = "lent"
	kindSlow = "slow"
)

// lentSettings are those of the extra connections that a shared pool lends.
func (s settings) lentSettings() settings {
	return settings{
		Options: s.Options, kind: kindLent, min: 0, max: s.maxLent, idleTimeout: s.idleTimeout, maxInFlight: 1,
		trace: s.trace, info: s.info,
	}
}
