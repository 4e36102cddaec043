package service

import (
	"cmp"
	"context"

	"github.com/redislanes/redislanes/limit"
)

// allow asks the limiter about a request. Rules with quota_mode, whose limits are in the shadow, are asked first: if
// all of them deny the request, it counts for no other limit.
func (s *Service) allow(ctx context.Context, asks []ask) decision {
	requests := requestsOf(asks, (*ask).limited)
	var is []bool // whether the request is one of a quota
	var quotas, others, charged []limit.Request
	for i := range asks {
		a := &asks[i]
		if !a.limited() {
			continue
		}
		r := requests[len(is)]
		is = append(is, a.rule.Quota)
		switch {
		case a.rule.Quota:
			quotas = append(quotas, r)
		case r.Charge:
			charged = append(charged, r)
			fallthrough
		default:
			others = append(others, r)
		}
	}
	if len(quotas) == 0 {
		r := s.Limiter.Allow(ctx, others...)
		return decision{r.Decision, r.Each(), others, r}
	}
	reservation, result := s.Limiter.Reserve(ctx, quotas...)
	each := result.Each()
	if d, denied := allDeny(each); denied {
		if len(charged) > 0 {
			s.Limiter.Allow(ctx, charged...) // they count in any case
		}
		return decision{Decision: d, each: join(is, each, others, nil)}
	}
	if len(others) == 0 {
		return decision{Decision: result.Decision, each: each}
	}
	rest := s.Limiter.Allow(ctx, others...)
	if !rest.Allowed {
		_ = reservation.Settle(ctx, giveBack(quotas, each)...) // hits that cannot be given back stay counted; a metric says how many
	}
	return decision{rest.Decision, join(is, each, others, rest.Each()), others, rest}
}

// allDeny returns what all quotas say together if all of them deny the request.
func allDeny(each []limit.Decision) (all limit.Decision, denied bool) {
	all.RetryAfter = limit.Never
	for _, d := range each {
		if d.Allowed {
			return all, false
		}
		all.RetryAfter, all.Err = min(all.RetryAfter, d.RetryAfter), cmp.Or(d.Err, all.Err)
	}
	return all, true
}

// giveBack returns the costs that a request which is denied leaves counted: those of charges. What remains is as if
// the others were given back already.
func giveBack(requests []limit.Request, each []limit.Decision) []int64 {
	costs := make([]int64, len(requests))
	for i := range requests {
		r, d, rule := &requests[i], &each[i], requests[i].Settings()
		switch {
		case r.Charge:
			costs[i] = r.Cost
		case d.Allowed && d.Err == nil && !r.Look:
			d.Remaining = min(d.Remaining+r.Cost, cmp.Or(rule.Burst, rule.Quota))
		}
	}
	return costs
}

// join returns the decisions in the order of the requests. Without decisions, the others were not asked about.
func join(is []bool, quotas []limit.Decision, requests []limit.Request, others []limit.Decision) (each []limit.Decision) {
	for _, r := range requests[len(others):] {
		others = append(others, limit.Decision{Quota: r.Settings().Quota})
	}
	for _, quota := range is {
		from := &others
		if quota {
			from = &quotas
		}
		each, *from = append(each, (*from)[0]), (*from)[1:]
	}
	return each
}
