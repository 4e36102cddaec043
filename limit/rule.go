package limit

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redislanes/redislanes/internal/setting"
	"github.com/redislanes/redislanes/limit/internal/lease"
)

// An Algorithm says which hits a limit compares with its quota.
type Algorithm uint8

const (
	// FixedWindow counts the hits in windows that follow one another from the beginning of Unix
	// time on. All processes have the same windows if their clocks agree (see
	// Config.ServerTime). A window never has more hits than the limit. A time as long as a
	// window that begins elsewhere may have up to twice as many.
	FixedWindow Algorithm = iota

	// SlidingWindow adds a share of the previous window's hits to those of the window: the part
	// of the previous window that is less than a window ago, rounded down. 10 s into a minute that
	// is five sixths. A window never has more hits than the limit. Any time as long as a window
	// has at most twice the limit, or one hit more than the limit if the previous window's hits
	// were spread evenly. Each key has two keys in Redis, in one slot.
	SlidingWindow

	// TokenBucket is a bucket of Burst tokens. Each hit takes one. Quota new tokens flow in
	// during a Window, evenly spread. It is the generic cell rate algorithm. Any time as long
	// as a window has at most Burst + Quota hits. The clock is that of the server that has the
	// key. Hits that no lease decides about run a script, those of many callers on one key together.
	TokenBucket
)

// String returns the name of the constant.
func (a Algorithm) String() string {
	if a > TokenBucket {
		return fmt.Sprintf("Algorithm(%d)", uint8(a))
	}
	return [...]string{"FixedWindow", "SlidingWindow", "TokenBucket"}[a]
}

// A Rule is the settings of a [Limit].
type Rule struct {
	// Name identifies the limit in keys, errors and metrics: 1 to 64 letters, digits, dots,
	// underscores and hyphens. Limits of one name and Algorithm share their counts if their windows have
	// the same length, or nearly, or are calendars of the same Unit; buckets always do. Do not make names
	// from user input.
	Name string

	// Quota is how many hits are allowed in a window, 0 to 1,000,000,000,000; of a
	// TokenBucket 1 to 1,000,000,000. It has no default: 0 denies all hits.
	Quota int64

	// Burst is how many hits a full TokenBucket allows at once. Default Quota, 1 to 1,000,000,000. It must be
	// 0 for other algorithms.
	Burst int64

	// Window is the length of a window, 100 ms to 366 days. A rule with a Calendar has none.
	Window time.Duration

	// Calendar, in place of Window, makes the windows of a FixedWindow days, weeks, months or years.
	Calendar Calendar

	// Algorithm is which hits are compared with Quota. Default FixedWindow.
	Algorithm Algorithm

	// Warn is the part of Quota, or of a bucket's Burst, from which on decisions say that so much is
	// used (Decision.Warned): 0 to 1, such as 0.8. Default 0: they never do.
	Warn float64

	// FailClosed denies hits that Redis cannot count now. By default they are
	// allowed. With Config.Instances neither holds: the process's own share of the
	// limit decides.
	FailClosed bool

	// NoLease makes each hit ask Redis. By default a limiter reserves the next hits on keys with more than
	// about one hit a second, and decides about them without Redis. The limit is never exceeded, except that
	// of a bucket after the machine was suspended. If a process crashes, its reserved hits are lost until the
	// window ends: about a sixteenth of those that remained, at most. docs/limits.md says which keys, rules
	// and requests have no leases.
	NoLease bool

	// Shadow makes the limit decide without consequence. Its decision says what it would be,
	// and does not deny the call.
	Shadow bool
}

// refill returns how long an empty bucket needs until it is full.
func (r *Rule) refill() time.Duration {
	t := float64(r.Window) * float64(r.burst()) / float64(r.Quota)
	return time.Duration(min(t, math.MaxInt64/2))
}

// burst returns how many hits may be allowed at once.
func (r *Rule) burst() int64 {
	if r.Algorithm == TokenBucket && r.Burst > 0 {
		return r.Burst
	}
	return r.Quota
}

// leased reports whether hits may be reserved.
func (r *Rule) leased() bool {
	return !r.NoLease && !r.Shadow && r.burst() >= lease.Smallest && (r.Algorithm != TokenBucket || r.refill() >= leastWindow)
}

func (r Rule) validate() error {
	switch {
	case !validName(r.Name):
		return fmt.Errorf("limit: Rule.Name = %q: want 1 to %d letters, digits, dots, underscores and hyphens", r.Name, longestName)
	case r.Quota < 0 || r.Quota > mostLimit:
		return fmt.Errorf("limit: Rule %s: Quota = %d: must be 0 to %d", r.Name, r.Quota, mostLimit)
	case !(r.Warn >= 0 && r.Warn <= 1): // also NaN
		return fmt.Errorf("limit: Rule %s: Warn = %v: must be 0 to 1", r.Name, r.Warn)
	case r.Calendar != (Calendar{}) && r.Window != 0:
		return fmt.Errorf("limit: Rule %s: Window = %v: a rule with a Calendar has none", r.Name, r.Window)
	case r.Calendar != (Calendar{}) && r.Algorithm != FixedWindow:
		return fmt.Errorf("limit: Rule %s: Algorithm = %v: a rule with a Calendar has a FixedWindow", r.Name, r.Algorithm)
	case r.Calendar == (Calendar{}) && r.Window == 0:
		return fmt.Errorf("limit: Rule %s: Window = 0s: must be %v to %v", r.Name, leastWindow, mostWindow)
	case r.Algorithm > TokenBucket:
		return fmt.Errorf("limit: Rule %s: Algorithm = %v: want FixedWindow, SlidingWindow or TokenBucket", r.Name, r.Algorithm)
	case r.Algorithm != TokenBucket && r.Burst != 0:
		return fmt.Errorf("limit: Rule %s: Burst = %d: only a TokenBucket has one", r.Name, r.Burst)
	case r.Algorithm == TokenBucket && (r.Quota < 1 || r.Quota > mostTokens):
		return fmt.Errorf("limit: Rule %s: Quota = %d: must be 1 to %d for a TokenBucket", r.Name, r.Quota, mostTokens)
	case r.Burst < 0 || r.Burst > mostTokens:
		return fmt.Errorf("limit: Rule %s: Burst = %d: must be 0 to %d", r.Name, r.Burst, mostTokens)
	case r.Algorithm == TokenBucket && r.refill() > mostRefill:
		return fmt.Errorf("limit: Rule %s: Burst = %d: with this Quota and Window the bucket takes more than %d years to fill", r.Name, r.burst(), mostRefill/(365*24*time.Hour))
	}
	return setting.Duration("limit: Rule "+r.Name+": Window", r.Window, leastWindow, mostWindow, "")
}

// nameBytes are what a name may have.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

func validName(name string) bool {
	return name != "" && len(name) <= longestName && strings.Trim(name, nameBytes) == ""
}
