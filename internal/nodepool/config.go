package nodepool

import (
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/lanes"
)

// Settings are what a pool runs on. A field that is zero has its default. Package pool
// makes them of the settings of a user, and has the documentation and the limits.
type Settings struct {
	Kind        string        // KindFixed, KindAdaptive or KindLaned; default KindLaned
	Min, Max    int           // connections
	IdleTimeout time.Duration // how long the load must be low for the pool to shrink

	MaxInFlight  int // batches on one shared connection
	MaxQueued    int // bytes that wait to be written on one shared connection
	Strategy     lanes.Strategy
	MaxDedicated int
	SlowLanes    int // for batches that are marked as slow; negative: they travel with the others

	MaxWaiters             int
	FailFast               bool
	SuspectAfter           time.Duration
	StallTimeout           time.Duration
	PingEvery              time.Duration // negative: never
	MaxAge                 time.Duration
	MinBackoff, MaxBackoff time.Duration

	Trace  *redislanes.Trace    // nil: nobody is told
	Traced *redislanes.PoolInfo // what Trace knows the pool by
}

// A Pool embeds its settings. The lower-case name hides the field from other packages.
type settings = Settings

// Of returns the settings that a pool.Config stands for, without defaults, or an error
// that names the field and the value. Package pool, which imports this one, sets it: no
// public method has settings of this package.
var Of func(config any) (Settings, error)

// Kinds of pools, as in Stats. The last one is beside a laned one.
const (
	KindFixed    = "fixed"
	KindAdaptive = "adaptive"
	KindLaned    = "laned"

	kindDedicated = "dedicated"
)

// WithDefaults returns the settings with a value in every field. The default size
// depends on whether the server is a node of a cluster.
func (s Settings) WithDefaults(inCluster bool) Settings {
	size := DefaultSingleSize
	if inCluster {
		size = DefaultSize
	}
	orDefault(&s.Kind, KindLaned)
	switch s.Kind {
	case KindFixed:
		orDefault(&s.Max, size)
		s.Min, s.MaxInFlight = s.Max, 1
	case KindAdaptive:
		orDefault(&s.Min, 1)
		orDefault(&s.Max, max(size, s.Min))
		s.MaxInFlight = 1
	case KindLaned:
		s = s.withLanes()
	}
	orDefault(&s.IdleTimeout, defaultIdleTimeout)
	orDefault(&s.MaxWaiters, defaultMaxWaiters)
	orDefault(&s.StallTimeout, defaultStallTimeout)
	orDefault(&s.SuspectAfter, min(defaultSuspectAfter, s.StallTimeout))
	orDefault(&s.PingEvery, defaultPingEvery)
	orDefault(&s.MinBackoff, defaultMinBackoff)
	orDefault(&s.MaxBackoff, max(defaultMaxBackoff, s.MinBackoff))
	return s
}

// withLanes has the defaults of a laned pool. Lanes are shared, so that their number
// does not depend on where the server is.
func (s Settings) withLanes() Settings {
	orDefault(&s.Max, defaultLanes)
	s.Min = s.Max
	orDefault(&s.MaxInFlight, defaultMaxInFlight)
	orDefault(&s.MaxQueued, defaultMaxQueuedBytes)
	orDefault(&s.MaxDedicated, DefaultSize)
	orDefault(&s.SlowLanes, defaultSlowLanes)
	return s
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// HasSlowLanes reports whether pools with these settings have lanes for batches
// that are marked as slow. Others ignore the mark.
func (s Settings) HasSlowLanes() bool { return s.WithDefaults(false).SlowLanes > 0 }

// shared reports whether all callers share the connections.
func (s *Settings) shared() bool { return s.Kind == KindLaned }

// beside reports whether the pool is beside a laned one, which says and does what concerns
// the server.
func (s *Settings) beside() bool { return s.Kind == kindDedicated }

// dedicatedSettings are those of the dedicated connections beside shared ones.
func (s Settings) dedicatedSettings() Settings {
	s.Kind, s.Min, s.Max, s.MaxInFlight, s.SlowLanes = kindDedicated, 0, s.MaxDedicated, 1, 0
	return s
}
