package limit

import (
	"context"
	"runtime"
	"time"

	"github.com/redislanes/redislanes/limit/internal/lease"
)

// Allow decides about the requests, all of them or none. It returns after the budget, or at the
// context's end, at the latest. If Redis has not decided by then, [Rule.FailClosed] decides, even if
// the context had ended before the call. A call without requests is allowed.
//
// Hits that do not fit are not counted. A call with a mistake is denied, also by limits that fail open.
// Mistakes are a nil context, a request without a Limit, and a negative Cost. Err says what is wrong,
// and Outcome is mistaken.
//
// Its round trips:
//
//   - none, if leases decide about all requests (see [Rule.NoLease]), if the near cache denies one,
//     or if one costs more than its limit;
//   - one, for most other calls. Hits wait for a command of their key that is under way if there are four, or
//     if the key is near its limit. Those that wait travel together after it;
//   - two, for the first hit of this process on a key that others have counted, and for a call of several
//     limits if an eighth or less of one is left: that one is asked after the others.
//
// If a limit denies the call, what the others have counted is given back. The call waits for that, within its
// budget.
//
// If the outcome of a hit is unknown, it may stay counted until its window ends. The limit may then allow
// fewer hits, never more.
func (l *Limiter) Allow(ctx context.Context, requests ...Request) (result Result) {
	now := time.Now()
	l.allowAt(ctx, now, now, requests, nil, &result)
	return result
}

// allowAt decides in the windows of now, which is not when the call began in tests
// alone. It fills in the result, which is empty before, and the parts of a Reservation, if there are any.
func (l *Limiter) allowAt(ctx context.Context, now, began time.Time, requests []Request, parts []part, result *Result) {
	if !l.made() {
		*result = refused(requests, errNotMade)
		return
	}
	var known *count
	if len(requests) == 1 && parts == nil && ctx != nil {
		known = l.lent(&requests[0], now, result)
	}
	if !result.Allowed {
		*result = l.allowed(ctx, now, began, requests, parts, known)
	}
	if l.cfg.Observer != nil { // which Close does not wait for: it may call Close
		l.show(time.Since(began), requests, *result)
	}
}

// allowed decides about a call. known is the count of its first request, nil if it was not looked up.
func (l *Limiter) allowed(ctx context.Context, now, began time.Time, requests []Request, parts []part, known *count) Result {
	if ctx == nil {
		return refused(requests, errNilContext)
	}
	entered := l.inside.Enter()
	if entered {
		defer l.inside.Leave()
	}
	c := l.calls.Get().(*call)
	defer l.done(c)
	c.by, c.left, c.known, c.parts = began.Add(l.cfg.Budget), false, known, parts
	if c.one[0], c.each = (Decision{}), c.one[:]; len(requests) != 1 {
		c.each = make([]Decision, len(requests))
	}
	switch {
	case !c.begin(l, requests, now):
	case !entered:
		c.fail(l, errClosed)
	default:
		if c.prepare(l); len(c.hits) > 0 {
			c.decide(ctx, l)
		}
	}
	for i := range c.each {
		c.each[i].noteLeft(ctx)
	}
	if c.denied {
		l.giveBack(ctx, c)
	} else {
		c.reserve()
	}
	return c.result()
}

// lent allows a request by the lease of its key alone, which is what most calls on keys that are hit
// often need. If the lease does not, the call has to look further; n is the key's count, if it was looked up. It does
// not enter the limiter, so that calls on different keys share nothing that is written.
func (l *Limiter) lent(r *Request, now time.Time, result *Result) (n *count) {
	of, err := l.limitOf(r)
	if err != nil || r.Look || r.Charge || !of.leases {
		return nil
	}
	n = l.counts.of(of, r.Key)
	w, at, cost, refills := of.windowAt(l.servers.at(now)), l.age(now), max(r.Cost, 1), false
	n.mu.Lock()
	if n.is(of, r.Key) && n.roll(w, at) && n.lease.Left() >= cost {
		result.Quota = of.rule.Quota
		var taken lease.Stretch
		refills = n.lend(l, w, at, cost, &taken, &result.Decision)
		result.warn(&of.rule)
	}
	n.mu.Unlock()
	if refills {
		runtime.Gosched() // callers that never wait must not keep the refill's goroutine from running
	}
	return n
}

// show tells the observer. It gets a copy of the requests, so that the caller's need
// not be allocated.
func (l *Limiter) show(took time.Duration, requests []Request, result Result) {
	shown := l.shown.Get().(*[]Request)
	*shown = append((*shown)[:0], requests...)
	l.cfg.Observer.Decided(took, *shown, result)
	if clear(*shown); cap(*shown) <= largeCall {
		l.shown.Put(shown)
	}
}
