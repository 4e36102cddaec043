package limit

import (
	"math/rand/v2"
	"time"

	"github.com/redislanes/redislanes/limit/internal/bucket"
	"github.com/redislanes/redislanes/limit/internal/window"
)

// A Limit is a [Rule] of a [Limiter]. Make it with [Rule.New]. It is immutable and safe for
// concurrent use.
type Limit struct {
	rule     Rule
	calendar *window.Compiled // nil: windows of a fixed length
	bucket   *bucket.Rule
	refill   time.Duration // of a bucket: how long leases may have its tokens, at most
	leases   bool          // its hits may be reserved
	prefix   string        // of the limiter that made it
	head     string        // of all its keys
	salt     uint64        // of its keys' hashes
}

// New returns a limit of the limiter, or an error that names the field that cannot be used. It
// sends nothing. Make a limit once and use it for all requests: each Limit has leases of its own, so
// one that is made for a single request has none. Drop limits that are no longer needed. The limit's
// keys begin with the limiter's Config.Prefix.
func (r Rule) New(limiter *Limiter) (*Limit, error) {
	if limiter == nil {
		return nil, errNotMade
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	calendar, err := r.Calendar.compile(r.Name)
	if err != nil {
		return nil, err
	}
	prefix := limiter.cfg.Prefix
	return &Limit{
		rule: r, calendar: calendar, bucket: bucket.NewRule(r.Quota, r.burst(), r.Window), refill: min(r.refill(), mostWindow), leases: r.leased(),
		prefix: prefix, head: prefix + r.Name + ":", salt: rand.Uint64(),
	}, nil
}

// Rule returns the limit's settings, and the zero Rule for a nil Limit.
func (l *Limit) Rule() Rule {
	if l == nil {
		return Rule{}
	}
	return l.rule
}
