package pool

import "github.com/redislanes/redislanes/lanes"

// Laned is a pool of a few connections that all callers share: batches of many
// callers travel together, so that one write and one read serve many. A
// command that needs a connection of its own (a blocking one, a transaction)
// is lent an extra one.
type Laned struct {
	// Lanes is the number of shared connections to each server. Default 4.
	Lanes int

	// Strategy chooses the lane for each batch. Default lanes.FirstFit.
	Strategy lanes.Strategy

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
	defaultMaxInFlight = 1024
)

func (l Laned) settings() (settings, error) {
	orDefault(&l.Lanes, defaultLanes)
	orDefault(&l.MaxInFlight, defaultMaxInFlight)
	orDefault(&l.MaxLent, DefaultSize)
	if l.Strategy == nil {
		l.Strategy = lanes.FirstFit
	}
	l.Options = l.withDefaults()
	err := firstError(notNegative("Laned", "Lanes", l.Lanes), notNegative("Laned", "MaxInFlight", l.MaxInFlight),
		notNegative("Laned", "MaxLent", l.MaxLent), l.validate("Laned"))
	return settings{
		Options: l.Options, kind: "laned", min: l.Lanes, max: l.Lanes,
		shared: true, strategy: l.Strategy, maxInFlight: l.MaxInFlight, maxLent: l.MaxLent,
	}, err
}

// inCluster: lanes are shared, so the default is the same everywhere.
func (l Laned) inCluster() Config { return l }

// lentSettings are those of the extra connections that a shared pool lends.
func (s settings) lentSettings() settings {
	return settings{Options: s.Options, kind: "lent", min: 0, max: s.maxLent, idleTimeout: defaultIdleTimeout, maxInFlight: 1}
}
