package limit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redislanes/redislanes/pipeline"
)

// AllowAtMost grants and counts as many of the request's hits as fit, 0 to Cost. Use it for work
// that can be done in part, such as a batch of messages. Decision.Allowed reports whether any
// hit was granted, Remaining what is left. If no hit was granted, RetryAfter is the time until
// one may be.
//
// It returns after the limiter's budget, or at the context's end, at the latest:
//
//   - If Redis has not decided by then, it grants all hits, or none with FailClosed. With
//     Config.Instances, the process's own bucket decides between all and none.
//   - With redislanes.ErrUnknownOutcome, up to Cost hits may have been counted.
//
// A Shadow limit grants all hits, whatever its decision says. A request that only looks counts
// nothing. Leases and Request.Charge have no effect.
//
// A fixed window takes one round trip, a sliding window two. A token bucket takes one if all
// hits fit, and more otherwise. It may grant fewer hits than fit while others take tokens.
func (l *Limiter) AllowAtMost(ctx context.Context, request Request) (granted int64, d Decision) {
	began := time.Now()
	switch {
	case !l.made():
		return 0, Decision{Err: errNotMade, mistake: true}
	case !request.Limit.made():
		d.Err, d.mistake = errNoLimit, true
	case request.Cost < 0:
		d = Decision{Limit: request.Limit.rule.Limit, Err: errBadCost, mistake: true}
	case ctx == nil:
		d.Err, d.mistake = errNilContext, true
	default:
		request.Cost = max(request.Cost, 1)
		granted, d = l.allowAtMost(ctx, request, began)
	}
	if l.cfg.Observer != nil {
		if granted > 0 && d.Err == nil && !request.Look {
			l.tell(request.Limit, HitsCounted, granted)
		}
		l.show(time.Since(began), []Request{request}, Result{Decision: d, Each: []Decision{d}})
	}
	if !d.mistake && request.Limit.rule.Shadow {
		granted = request.Cost
	}
	return granted, d
}

func (l *Limiter) allowAtMost(ctx context.Context, r Request, began time.Time) (granted int64, d Decision) {
	rule := &r.Limit.rule
	a := ask{limit: r.Limit, cost: 1, look: true, window: l.windowAt(began, rule.Window)}
	a.place = place{r.Limit.heads(a.number()).now, r.Key}
	d.Limit = rule.Limit
	if rule.burst() == 0 {
		d.RetryAfter = Never
		return 0, d
	}
	if l.near.denies(a.place, rule, 1, began, &d) {
		return 0, d
	}
	err := error(errClosed)
	if l.inside.Enter() {
		defer l.inside.Leave()
		own := l.budgets.Begin(ctx, began.Add(l.cfg.Budget))
		defer l.budgets.End(own)
		granted, err = l.grant(own, &a, &r)
	}
	if err != nil {
		d.Err, d.Allowed = err, !rule.FailClosed
		if l.local != nil {
			local := l.local.take(rule, r.Key, r.Cost, time.Now())
			if d.Allowed = local != nil; d.Allowed && r.Look {
				l.local.give(local, rule, r.Cost)
			}
		}
		if d.Allowed {
			granted = r.Cost
		}
		return granted, d
	}
	a.judge(&d)
	if d.Allowed = granted > 0; !d.Allowed && l.near != nil {
		l.near.note(a.place, rule, 1, began, &d, l.cfg.nearTime())
	}
	if a.draw == nil && !r.Look {
		d.Remaining -= granted
	}
	return granted, d
}

// grant asks Redis, and leaves in a what judge needs: of a window the hits before those that
// are granted, of a bucket the draw.
func (l *Limiter) grant(ctx context.Context, a *ask, r *Request) (int64, error) {
	if a.limit.rule.Algorithm == TokenBucket {
		return l.grantTokens(ctx, a, r)
	}
	limit := a.limit.rule.Limit
	windows := 1
	if a.limit.rule.Algorithm == SlidingWindow {
		before := draw{key: a.limit.heads(a.window.number).before + r.Key, get: true}
		if l.draw(ctx, []*draw{&before}); before.err != nil {
			return 0, before.err
		}
		a.before, windows = before.total, 2
	}
	most := min(r.Cost, limit)
	if r.Look {
		most = 0
	}
	p := l.pipe()
	defer l.unpipe(p)
	reply := p.Eval(atMostScript, []string{a.place.String()},
		strconv.FormatInt(limit-a.window.share(a.before), 10), strconv.FormatInt(most, 10),
		strconv.FormatInt(a.window.ttl(windows, l.cfg.Budget).Milliseconds(), 10)).Fast()
	_ = p.Do(ctx) // the reply has its error
	var n []int64
	if err := reply.Into(&n); err != nil {
		return 0, err
	}
	if len(n) != 2 {
		return 0, fmt.Errorf("limit: the reply of the script has %d numbers, want 2", len(n))
	}
	a.now = n[1]
	if r.Look {
		return max(0, min(r.Cost, limit-a.window.share(a.before)-a.now)), nil
	}
	return n[0], nil
}

// mostDraws is how often a bucket is asked for what it had the time before.
const mostDraws = 4

// grantTokens asks for fewer tokens as long as there are too few. The last time, it asks for
// one.
func (l *Limiter) grantTokens(ctx context.Context, a *ask, r *Request) (int64, error) {
	want := min(r.Cost, a.limit.rule.burst())
	for i := 1; ; i++ {
		d := newDraw(a.place.String(), &a.limit.rule, want, l.now(), 0)
		if r.Look {
			d.look()
		}
		l.draw(ctx, []*draw{&d})
		a.draw = &d
		switch {
		case d.err != nil:
			return 0, d.err
		case d.allowed:
			return want, nil
		case want == 1:
			return 0, nil
		case i >= mostDraws-1:
			want = 1
		default:
			want = max(1, min(want, d.remaining))
		}
	}
}

// atMostText counts up to ARGV[2] hits in KEYS[1], as many as leave it at ARGV[1] at most. A key
// without a time to live gets ARGV[3] milliseconds. The reply has how many it counted, and how
// many there were before.
const atMostText = `
local hits = math.max(0, tonumber(redis.call("GET", KEYS[1]) or "0"))
local n = math.max(0, math.min(tonumber(ARGV[2]), tonumber(ARGV[1]) - hits))
if n > 0 then
  redis.call("INCRBY", KEYS[1], string.format("%.0f", n))
  if redis.call("PTTL", KEYS[1]) < 0 then redis.call("PEXPIRE", KEYS[1], ARGV[3]) end
end
return {n, hits}
`

var atMostScript = pipeline.NewScript(atMostText)
