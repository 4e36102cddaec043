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
//   - If Redis has not decided by then, it grants up to the limit (of a bucket: the burst), or none with
//     FailClosed. With Config.Instances, it grants up to the process's share of it.
//   - With redislanes.ErrUnknownOutcome, up to Cost hits may have been counted.
//
// A Shadow limit grants all hits, whatever its decision says. Request.Look is a mistake: Allow with
// Look says in Decision.Remaining how many hits fit. Request.Charge has no effect.
//
// It asks for as many hits as fit by what Redis has said last: one round trip in general. If others were
// faster, it asks for fewer, up to four times in all.
func (l *Limiter) AllowAtMost(ctx context.Context, request Request) (granted int64, d Decision) {
	now := time.Now()
	request.Charge = false
	if !l.made() {
		return 0, refused(nil, errNotMade).Decision
	}
	of := l.limitOf(&request, &d)
	switch {
	case of == nil:
		d.mistake = true
	case request.Look:
		d = Decision{Quota: of.rule.Quota, Err: errLookAtMost, mistake: true}
	case request.Cost < 0:
		d = Decision{Quota: of.rule.Quota, Err: request.badCost(of), mistake: true}
	case ctx == nil:
		d.Err, d.mistake = errNilContext, true
	default:
		request.Limit, request.Cost = of, max(request.Cost, 1)
		granted, d = l.allowAtMost(ctx, request, now)
	}
	shadow := !d.mistake && of.rule.Shadow
	if shadow {
		granted = request.Cost
	}
	if l.cfg.Observer != nil {
		result := Result{Decision: d, Decisions: []Decision{d}}
		if shadow { // which is left out of a call's decision
			result.Decision = Decision{Allowed: true}
		}
		l.show(time.Since(now), []Request{request}, result)
	}
	return granted, d
}

func (l *Limiter) allowAtMost(ctx context.Context, r Request, began time.Time) (granted int64, d Decision) {
	of := &r.Limit.rule
	most := min(r.Cost, of.burst())
	if most == 0 {
		return 0, Decision{Quota: of.Quota, RetryAfter: Never}
	}
	for try := 1; ; try++ {
		r.Cost = most
		d = l.allowed(ctx, time.Now(), began, []Request{r}).Each()[0]
		switch {
		case d.Allowed && d.Err != nil && l.local != nil:
			return l.local.keepShare(of, r.Key, most), d
		case d.Allowed:
			return most, d
		case d.Err != nil || most == 1:
			return 0, d
		case try < mostTries:
			most = max(1, min(most, d.Remaining))
		default:
			most = 1
		}
	}
}
