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
// faster, it asks again, for fewer.
func (l *Limiter) AllowAtMost(ctx context.Context, request Request) (granted int64, d Decision) {
	began := time.Now()
	if !l.made() {
		return 0, refused(nil, errNotMade).Decision
	}
	request.Charge = false
	var result Result
	if request.Look {
		result = refused([]Request{request}, errLookAtMost)
	} else {
		granted, result = l.allowAtMost(ctx, request, began)
	}
	if l.cfg.Observer != nil {
		l.show(time.Since(began), []Request{request}, result)
	}
	return granted, result.Each()[0]
}

func (l *Limiter) allowAtMost(ctx context.Context, r Request, began time.Time) (granted int64, result Result) {
	cost := r.cost()
	of, err := l.limitOf(&r)
	if err == nil {
		r.Limit, r.Cost = of, max(1, min(cost, of.rule.burst()))
	}
	for {
		result = l.allowed(ctx, time.Now(), began, []Request{r}, nil, nil)
		d := &result.Each()[0]
		switch {
		case !d.Allowed && d.Err == nil && r.Cost > 1:
			r.Cost = max(1, min(r.Cost-1, d.Remaining))
			continue
		case d.mistake:
		case of.rule.Shadow:
			granted = cost
		case d.Allowed && d.Err != nil && l.local != nil:
			granted = l.local.keepShare(&of.rule, r.Key, r.Cost)
		case d.Allowed:
			granted = r.Cost
		}
		return granted, result
	}
}
