package attempt

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	// Forever is the window of a client that retries for as long as the context lasts.
	Forever time.Duration = math.MaxInt64

	// minBackoff is the longest wait before the second try.
	minBackoff = 2 * time.Millisecond

	// MaxBackoff is the longest wait between two tries.
	MaxBackoff = 250 * time.Millisecond
)

// An Outage is why commands are refused, or cannot be sent, from the first one on.
type Outage struct {
	Since  time.Time
	Silent bool // the server says nothing, and refuses no connection
}

// Lasted returns how long the outage has lasted. It is 0 if Since is after now, as when another
// call has just met the outage.
func (o Outage) Lasted(now time.Time) time.Duration { return max(0, now.Sub(o.Since)) }

// Left returns how much of the window is left. It is negative after the end of the window.
func (o Outage) Left(now time.Time, window time.Duration) time.Duration {
	return window - o.Lasted(now)
}

// Next decides about a command that met the outage and has not run. left is the time that its
// call had when it first met an outage. A command for a replica goes to another replica, or to
// the primary, however long the outage has lasted.
func (o Outage) Next(replica bool, now time.Time, left, window time.Duration) Step {
	switch {
	case replica:
		return OtherReplica
	case o.MayRetry(now, left, window):
		return Retry
	}
	return Stands
}

// MayRetry is the rule for retries: a command that did not run is tried again within the window
// since its outage began. After the window it is tried once. The rule depends on time, not on
// counts: with 12 tries a failover of 600 ms failed nearly all calls, and a shard that was
// down for good cost each call up to a second.
//
// If the server is silent, a call that had less time left than the window when it met the
// outage is tried once. The servers begin a failover after they have noticed the silence
// themselves, so it hardly comes within such a call. A server that refuses connections may be
// starting, and soon accept them.
func (o Outage) MayRetry(now time.Time, left, window time.Duration) bool {
	if o.Silent && left < window && window != Forever {
		return false
	}
	return o.Lasted(now) < window
}

// Backoff returns how long to wait before a command that was sent n times is sent again: a
// random time up to a limit. The limit is 2 ms, doubled for each try but the first, and at most
// MaxBackoff and what is left. Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture
// Blog, 2015 ("full jitter").
func Backoff(n int, left time.Duration) time.Duration {
	limit := min(minBackoff<<min(n-1, 20), MaxBackoff)
	return rand.N(min(limit, max(left, minBackoff))) + 1
}
