package nodepool

import (
	"cmp"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/health"
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

	MaxWaiters   int
	FailFast     bool
	SuspectAfter time.Duration
	StallTimeout time.Duration
	MaxAge       time.Duration

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
// depends on whether the server is a node of a cluster. Lanes are shared, so their number does not.
func (s Settings) WithDefaults(inCluster bool) Settings {
	size := DefaultSingleSize
	if inCluster {
		size = DefaultSize
	}
	s.Kind = cmp.Or(s.Kind, KindLaned)
	switch s.Kind {
	case KindFixed:
		s.Max = cmp.Or(s.Max, size)
		s.Min, s.MaxInFlight = s.Max, 1
	case KindAdaptive:
		s.Min = cmp.Or(s.Min, 1)
		s.Max = cmp.Or(s.Max, max(size, s.Min))
		s.MaxInFlight = 1
	case KindLaned:
		s.Max = cmp.Or(s.Max, defaultLanes)
		s.Min = s.Max
		s.MaxInFlight = cmp.Or(s.MaxInFlight, defaultMaxInFlight)
		s.MaxQueued = cmp.Or(s.MaxQueued, defaultMaxQueuedBytes)
		s.MaxDedicated = cmp.Or(s.MaxDedicated, DefaultSize)
		s.SlowLanes = cmp.Or(s.SlowLanes, defaultSlowLanes)
	}
	s.IdleTimeout = cmp.Or(s.IdleTimeout, defaultIdleTimeout)
	s.MaxWaiters = cmp.Or(s.MaxWaiters, defaultMaxWaiters)
	s.StallTimeout = cmp.Or(s.StallTimeout, defaultStallTimeout)
	s.SuspectAfter = cmp.Or(s.SuspectAfter, min(defaultSuspectAfter, s.StallTimeout))
	return s
}

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

// LeastSuspectAfter is the least SuspectAfter and StallTimeout.
const LeastSuspectAfter = 2 * health.LookEvery

// The most connections to each server, unless they are set.
const (
	DefaultSize       = 50 // to each node of a cluster
	DefaultSingleSize = 10 // to a server that stands alone
)

// The other defaults of Settings. Package pool says what each bounds.
const (
	defaultLanes          = 4
	defaultSlowLanes      = 2
	defaultMaxInFlight    = 1024
	defaultMaxQueuedBytes = 8 << 20
	defaultMaxWaiters     = 1 << 16
	defaultIdleTimeout    = 10 * time.Second
	defaultStallTimeout   = 3 * time.Second
	defaultSuspectAfter   = 500 * time.Millisecond
)

// The times of the package.
const (
	// quietTime is how long a connection is idle before its background goroutine listens on
	// it for the server's hanging up. Until then the next request notices it.
	quietTime = time.Second

	// pingEvery is after how long without a byte an idle connection is asked by a PING.
	pingEvery = 10 * time.Second

	// renewPause is the least time between two renewals of all connections, so that many
	// callers with the same complaint cause one.
	renewPause = time.Second
)

// The counts of the package.
const (
	// The saturations, in percent, at which a pool changes its size, see control.
	growAbove   = 90 // at more than this, or when callers wait, the pool grows
	growTo      = 75 // to a size at which the saturation is this
	shrinkBelow = 30 // at less than this for the quiet time, it shrinks

	// maxServed bounds how many batches that wait are dispatched with one write on each lane,
	// and one hold of the lock.
	maxServed = 64

	// largeBatch is from how many bytes on a batch travels on the lanes for slow commands. Smaller
	// ones are written and taken by the server in less than a millisecond.
	largeBatch = 256 << 10

	// besidePing is how many batches a connection of one caller may have in flight: that
	// caller's and a PING. A connection that is pinged is not busy for callers, and
	// the stack of idle connections gives each to one caller at a time. Otherwise FailFast
	// would refuse callers when all idle connections are pinged at once.
	besidePing = 2
)
