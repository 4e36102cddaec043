package nodepool

import (
	"time"

	"github.com/redislanes/redislanes/internal/health"
)

// LeastSuspectAfter is the least SuspectAfter and StallTimeout: a pool looks twice in that time.
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
	defaultPingEvery      = 10 * time.Second
	defaultMinBackoff     = 10 * time.Millisecond
	defaultMaxBackoff     = time.Second
)

// The times of the package.
const (
	// quietTime is how long a connection is idle before its background goroutine listens on
	// it for the server's hanging up. Until then the next request notices it.
	quietTime = time.Second

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
