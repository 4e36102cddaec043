package limit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/internal/setting"
)

// A ConcurrencyRule is the settings of a [Concurrency].
type ConcurrencyRule struct {
	// Name is as of [Rule]. Concurrency limits of one name share their holders. A
	// rate limit of the same name has keys of its own, but both count under one name in metrics.
	Name string

	// Limit is how many holders a key may have at a time, 0 to 1,000,000.
	Limit int64

	// TTL is how long the place of a holder stays taken after its process has died. A holder
	// that lives is renewed after a third of it. Default 10 s; 1 s to an hour.
	TTL time.Duration

	// FailClosed denies an Acquire that Redis cannot decide now. By default it is allowed,
	// without a place.
	FailClosed bool
}

// A Concurrency limits how many holders a key has at a time. Make it with
// [Limiter.Concurrency]. All methods are safe for concurrent use.
type Concurrency struct {
	limiter *Limiter
	rule    ConcurrencyRule
	head    string // of all its keys
	args    [2]string
	shown   Limit // to the observer; Allow refuses it
}

// Concurrency returns a concurrency limit with the settings, or an error that names the one
// that cannot be used. It sends nothing.
//
// Each key is a sorted set in Redis. Its holders are renewed by one goroutine of the limiter,
// in one pipeline for all that are due.
func (l *Limiter) Concurrency(r ConcurrencyRule) (*Concurrency, error) {
	if !l.made() {
		return nil, errNotMade
	}
	if !validName(r.Name) {
		return nil, fmt.Errorf("limit: ConcurrencyRule.Name = %q: want 1 to %d letters, digits, dots, underscores and hyphens", r.Name, longestName)
	}
	if r.Limit < 0 || r.Limit > mostHolders {
		return nil, fmt.Errorf("limit: ConcurrencyRule %s: Limit = %d: must be 0 to %d", r.Name, r.Limit, mostHolders)
	}
	if err := setting.Duration("limit: ConcurrencyRule "+r.Name+": TTL", r.TTL, leastTTL, mostTTL, ""); err != nil {
		return nil, err
	}
	if r.TTL == 0 {
		r.TTL = defaultTTL
	}
	return &Concurrency{
		limiter: l, rule: r,
		head:  l.cfg.Prefix + r.Name + ":HELD:", // no window's number has capitals
		args:  [2]string{strconv.FormatInt(r.Limit, 10), strconv.FormatInt(r.TTL.Milliseconds(), 10)},
		shown: Limit{rule: Rule{Name: r.Name, Limit: r.Limit, Window: r.TTL, FailClosed: r.FailClosed}},
	}, nil
}

// Rule returns the limit's settings.
func (c *Concurrency) Rule() ConcurrencyRule { return c.rule }

// Acquire takes a place of the key, if fewer than Limit are taken. The caller must call
// Release of the [Hold] when it is done. The place is renewed until then, and
// [Hold.Lost] tells if that fails.
//
// Acquire does not wait for a place. It returns after the limiter's budget or half of the TTL,
// whichever is less, or at the context's end, at the latest. If Redis has not decided by then, the
// decision has the error, and FailClosed decides. The Hold is nil if there is no place: if the
// decision denies, or has an error. All methods of a nil Hold work; its Lost is a nil channel, on
// which a receive never ends.
//
// Decision.Remaining is how many places are free. The RetryAfter of a denied Acquire is a
// guess of a second at most, since holders end at any time; it is [Never] if Limit is 0.
// ResetAfter is 0.
func (c *Concurrency) Acquire(ctx context.Context, key string) (*Hold, Decision) {
	if c == nil || c.limiter == nil {
		return nil, Decision{Err: errNoConcurrency, mistake: true}
	}
	began := time.Now()
	h, d := c.acquire(ctx, key, began)
	d.noteLeft(ctx)
	if o := c.limiter.cfg.Observer; o != nil {
		if h != nil {
			o.Hits(&c.shown, HitsCounted, 1)
		}
		o.Decided(time.Since(began), []Request{{Limit: &c.shown, Key: key, Cost: 1}}, Result{Decision: d, Each: []Decision{d}})
	}
	return h, d
}

func (c *Concurrency) acquire(ctx context.Context, key string, began time.Time) (*Hold, Decision) {
	l, d := c.limiter, Decision{Limit: c.rule.Limit}
	switch {
	case ctx == nil:
		d.Err, d.mistake = errNilContext, true
		return nil, d
	case c.rule.Limit == 0:
		d.RetryAfter = Never
		return nil, d
	case !l.inside.Enter():
		d.Err, d.Allowed = errClosed, !c.rule.FailClosed
		return nil, d
	}
	defer l.inside.Leave()
	h := &Hold{of: c, key: c.head + key, id: rand.Text(), sent: began, lost: make(chan struct{}), at: -1}
	holding, err := h.take(ctx, began.Add(min(l.cfg.Budget, c.rule.TTL/2)))
	switch {
	case err != nil:
		if !didNotRun(err) {
			l.keeper.leave(h)
		}
		d.Err, d.Allowed = err, !c.rule.FailClosed
		return nil, d
	case !holding.taken:
		d.RetryAfter = max(leastRetryHolding, min(holding.first, retryHolding))
		return nil, d
	}
	d.Allowed, d.Remaining = true, max(0, c.rule.Limit-holding.held)
	l.keeper.add(h)
	return h, d
}

var errNoConcurrency = errors.New("limit: the Concurrency was not made by Limiter.Concurrency: use one that it returned without an error")
