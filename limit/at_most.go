package limit

import (
	"context"
	"time"
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
// A Shadow limit grants all hits, whatever its decision says. Request.Look is a mistake: Allow with
// Look says in Decision.Remaining how many hits fit. Request.Charge has no effect.
//
// Hits that this limiter has reserved are granted first, without a round trip if they are enough.
// Otherwise a fixed window takes one round trip, and a sliding window two. A token bucket takes
// one if all hits fit, and more otherwise. It may grant fewer hits than fit while others take
// tokens.
func (l *Limiter) AllowAtMost(ctx context.Context, request Request) (granted int64, d Decision) {
	began := time.Now()
	switch {
	case !l.made():
		return 0, Decision{Err: errNotMade, mistake: true}
	case !request.Limit.made():
		d.Err, d.mistake = errNoLimit, true
	case request.Look:
		d = Decision{Quota: request.Limit.rule.Quota, Err: errLookAtMost, mistake: true}
	case request.Cost < 0:
		d = Decision{Quota: request.Limit.rule.Quota, Err: request.badCost(), mistake: true}
	case ctx == nil:
		d.Err, d.mistake = errNilContext, true
	default:
		request.Cost = max(request.Cost, 1)
		granted, d = l.allowAtMost(ctx, request, began)
		d.noteLeft(ctx)
	}
	shadow := !d.mistake && request.Limit.rule.Shadow
	if shadow {
		granted = request.Cost
	}
	if l.cfg.Observer != nil {
		result := Result{Decision: d, Each: []Decision{d}}
		if shadow { // which is left out of a call's decision
			result.Decision = Decision{Allowed: true}
		}
		l.show(time.Since(began), []Request{request}, result)
	}
	return granted, d
}

func (l *Limiter) allowAtMost(ctx context.Context, r Request, began time.Time) (granted int64, d Decision) {
	rule := &r.Limit.rule
	a := ask{limit: r.Limit, cost: 1, look: true, window: l.windowAt(began, rule.Window)}
	a.place = place{r.Limit.heads(a.number()).now, r.Key}
	d.Quota = rule.Quota
	if rule.burst() == 0 {
		d.RetryAfter = Never
		return 0, d
	}
	if !l.inside.Enter() {
		return l.grantWithout(&r, &d, errClosed), d
	}
	defer l.inside.Leave()
	part := l.takePart(&a, &r, &d)
	switch {
	case part.excess == r.Cost:
		part.allow(&d)
		return r.Cost, d
	case part.excess == 0 && l.near.denies(a.place, rule, 1, began, &d):
		return 0, d
	}
	own := l.budgets.Begin(ctx, began.Add(l.cfg.Budget))
	defer l.budgets.End(own)
	granted, err := l.grant(own, &a, r.Cost-part.excess)
	if err != nil {
		if part.excess > 0 {
			part.returnExcess(l, true)
		}
		return l.grantWithout(&r, &d, err), d
	}
	a.judge(&d)
	l.tellSome(r.Limit, hitsCounted, granted)
	if a.draw == nil {
		d.Remaining -= granted
	}
	if granted += part.excess; granted > 0 {
		d.Allowed, d.RetryAfter = true, 0
	} else if l.near != nil {
		l.near.note(a.place, rule, 1, began, &d, l.cfg.nearTime())
	}
	return granted, d
}

// grantWithout decides without Redis.
func (l *Limiter) grantWithout(r *Request, d *Decision, err error) (granted int64) {
	rule := &r.Limit.rule
	*d = Decision{Quota: rule.Quota, Err: err, Allowed: !rule.FailClosed}
	if l.local != nil {
		d.Allowed = l.local.take(rule, r.Key, r.Cost, time.Now()) != nil
	}
	if d.Allowed {
		granted = r.Cost
	}
	return granted
}

// grant asks Redis, and leaves in a what judge needs: of a window the hits before those that
// are granted, of a bucket the draw.
func (l *Limiter) grant(ctx context.Context, a *ask, cost int64) (granted int64, err error) {
	if a.limit.rule.Algorithm == TokenBucket {
		return l.grantTokens(ctx, a, cost)
	}
	before, err := l.hitsBefore(ctx, a.limit, a.window, a.place.key)
	if err != nil {
		return 0, err
	}
	a.before = before
	granted, a.now, err = l.countFitting(ctx, a.limit, a.window, a.place.key, cost, a.limit.rule.Quota-a.window.share(before), 1)
	return granted, err
}

// grantTokens asks for fewer tokens as long as there are too few. The last time it asks for one.
func (l *Limiter) grantTokens(ctx context.Context, a *ask, cost int64) (int64, error) {
	want := min(cost, a.limit.rule.burst())
	for i := 1; ; i++ {
		d := newDraw(a.place.String(), &a.limit.rule, want, l.now(), 0)
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
