package attempt

import (
	"math"
	"math/rand/v2"
	"time"
)

// Forever is the window of a client that retries for as long as the context lasts.
const Forever time.Duration = math.MaxInt64

// An Outage is why commands are refused, or cannot be sent, from the first one on.
type Outage struct {
	Since  time.Time
	Silent bool // the server says nothing, and refuses no connection
}

// Next decides for a command that met the outage and has not run, of a call that had so
// much time left when it first met one. What a replica does not answer is another one's, or
// the primary's, whatever time it is.
func (o Outage) Next(replica bool, now time.Time, left, window time.Duration) Step {
	switch {
	case replica:
		return Turn
	case o.MayRetry(now, left, window):
		return Retry
	}
	return Stands
}

// MayRetry is the rule by which everything is tried again that did not run: within the
// window since its outage began. It knows time and not counts: with 12 tries a failover of
// 600 ms failed nearly all calls, and a shard that was dead for good cost each call up to a
// second.
//
// What comes later is tried once. So is a call for a server that is silent, if it had less
// time left than the window when it met the outage. To notice the silence has cost calls
// half a second of whole deadlines, and a failover, which servers also begin by noticing it,
// will hardly come in what is left of such a call. A server that refuses connections may be
// one that starts, and soon does not.
func (o Outage) MayRetry(now time.Time, left, window time.Duration) bool {
	if o.Silent && left < window && window != Forever {
		return false
	}
	return now.Sub(o.Since) < window
}

const (
	minBackoff = 2 * time.Millisecond

	// MaxBackoff is the longest wait between two tries.
	MaxBackoff = 250 * time.Millisecond
)

// Backoff returns how long to wait before a command is sent again that was sent n times: a
// random time up to 2 ms, doubled for each try but the first up to MaxBackoff, and no longer
// than what is left. Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture
// Blog, 2015 ("full jitter").
func Backoff(n int, left time.Duration) time.Duration {
	limit := min(minBackoff<<min(n-1, 20), MaxBackoff)
	return rand.N(min(limit, max(left, minBackoff))) + 1
}
