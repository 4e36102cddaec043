package limit

import (
	"fmt"
	"math"
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
)

// An Algorithm says which hits a limit compares with its number.
type Algorithm uint8

const (
	// FixedWindow compares the hits since the window's beginning. Windows follow
	// one another from the beginning of Unix time on, the same for all processes
	// whose clocks agree. In a window there are never more hits than the limit;
	// in a time as long as a window that begins elsewhere, up to twice as many.
	FixedWindow Algorithm = iota

	// SlidingWindow adds to the hits of the window those of the one before, in the
	// share in which that one overlaps the time that has passed: 10 s into a minute,
	// five sixths of them. In a window there are never more hits than the limit; in a
	// time as long as a window, as many if those of the window before were spread
	// evenly, and fewer than twice as many in any case. It has two keys for each key.
	SlidingWindow

	// TokenBucket is a bucket of Burst tokens, of which each hit takes one, and which
	// gets Limit new ones in a Window, evenly spread: the generic cell rate
	// algorithm. In a time as long as a window there are at most Burst + Limit hits.
	// Its clock is that of the server that has the key. A hit that it denies takes
	// nothing, without a second round trip. Each hit is a script of its own: those of
	// many callers on one key do not travel as one.
	TokenBucket
)

// String returns the name of the constant.
func (a Algorithm) String() string {
	switch a {
	case FixedWindow:
		return "FixedWindow"
	case SlidingWindow:
		return "SlidingWindow"
	case TokenBucket:
		return "TokenBucket"
	}
	return fmt.Sprintf("Algorithm(%d)", uint8(a))
}

// A Rule is the settings of a [Limit].
type Rule struct {
	// Name tells the limit from others in keys, errors and metrics: 1 to 64 letters,
	// digits, dots, underscores and hyphens. Two limits of one name share their
	// counts if both have the same Window, also if one is a FixedWindow and the other a
	// SlidingWindow, or if both are a TokenBucket. Give others names of their own. It should not be made from what users say.
	Name string

	// Limit is how many hits are allowed in a window, 0 to 1,000,000,000,000; of a
	// TokenBucket 1 to 1,000,000,000.
	Limit int64

	// Burst is how many hits a TokenBucket allows at once, 1 to 1,000,000,000.
	// Default Limit. Other algorithms have none.
	Burst int64

	// Window is the length of a window, 100 ms to 366 days.
	Window time.Duration

	// Algorithm is which hits are compared with Limit. Default FixedWindow.
	Algorithm Algorithm

	// FailClosed denies hits that Redis cannot count now. By default they are
	// allowed.
	FailClosed bool

	// CountDenied leaves hits counted that Redis has counted and that were denied, by
	// this limit or by another one of the same call. That saves the second round trip of a denied call, and
	// changes nothing for a limit with fixed windows that is used alone and with a
	// cost of 1: nothing more is allowed in the window anyway. In a sliding window,
	// denied hits then count against the ones after them.
	CountDenied bool

	// NoLease makes each hit ask Redis. By default a limiter that sees many hits on a key
	// reserves those of about the next 20 ms, or of up to 320 ms if they are few, and decides about them without Redis. The
	// limit is exact all the same. A process that crashes loses what it has reserved until
	// the window ends: at most about a sixteenth of the hits that remained. Rules with
	// CountDenied or Shadow have no leases.
	NoLease bool

	// Shadow makes the limit decide without any consequence: its decision says
	// what it would be, and the call is allowed in spite of it.
	Shadow bool
}

const (
	leastWindow       = 100 * time.Millisecond
	mostWindow        = 366 * 24 * time.Hour
	longestName       = 64
	mostLimit   int64 = 1_000_000_000_000 // far from where Redis' counters overflow
	mostTokens        = 1_000_000_000
)

// mostRefill is the longest time that a bucket may need until it is full.
const mostRefill = 100 * 365 * 24 * time.Hour

// refill returns how long an empty bucket needs until it is full.
func (r *Rule) refill() time.Duration {
	t := float64(r.Window) * float64(r.burst()) / float64(r.Limit)
	return time.Duration(min(t, math.MaxInt64/2))
}

// perToken returns how many nanoseconds it takes until a token flows in.
func (r *Rule) perToken() float64 { return float64(r.Window) / float64(r.Limit) }

// burst returns how many hits may be allowed at once.
func (r *Rule) burst() int64 {
	if r.Algorithm == TokenBucket && r.Burst > 0 {
		return r.Burst
	}
	return r.Limit
}

// leased reports whether hits may be reserved.
func (r *Rule) leased() bool {
	return !r.NoLease && !r.Shadow && !r.CountDenied && r.burst() >= lease.Smallest && (r.Algorithm != TokenBucket || r.refill() >= leastWindow)
}

func (r Rule) validate() error {
	switch {
	case !validName(r.Name):
		return fmt.Errorf("limit: Rule.Name = %q: want 1 to %d letters, digits, dots, underscores and hyphens", r.Name, longestName)
	case r.Limit < 0 || r.Limit > mostLimit:
		return fmt.Errorf("limit: Rule %s: Limit = %d: must be 0 to %d", r.Name, r.Limit, mostLimit)
	case r.Window < leastWindow || r.Window > mostWindow:
		return fmt.Errorf("limit: Rule %s: Window = %v: must be %v to %v", r.Name, r.Window, leastWindow, mostWindow)
	case r.Algorithm > TokenBucket:
		return fmt.Errorf("limit: Rule %s: Algorithm = %v: want FixedWindow, SlidingWindow or TokenBucket", r.Name, r.Algorithm)
	case r.Algorithm != TokenBucket && r.Burst != 0:
		return fmt.Errorf("limit: Rule %s: Burst = %d: only a TokenBucket has one", r.Name, r.Burst)
	case r.Algorithm == TokenBucket && (r.Limit < 1 || r.Limit > mostTokens):
		return fmt.Errorf("limit: Rule %s: Limit = %d: must be 1 to %d of a TokenBucket", r.Name, r.Limit, mostTokens)
	case r.Burst < 0 || r.Burst > mostTokens:
		return fmt.Errorf("limit: Rule %s: Burst = %d: must be 0 to %d", r.Name, r.Burst, mostTokens)
	case r.Algorithm == TokenBucket && r.refill() > mostRefill:
		return fmt.Errorf("limit: Rule %s: Burst = %d: it would take more than %d years to flow in", r.Name, r.burst(), mostRefill/(365*24*time.Hour))
	}
	return nil
}

func validName(name string) bool {
	if name == "" || len(name) > longestName {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
