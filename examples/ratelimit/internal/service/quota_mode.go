package service

import (
	"cmp"
	"context"
	"time"

	"github.com/redislanes/redislanes/limit"
)

const (
	mostRemembered = 10_000      // quotas that have denied a call
	longestDenial  = time.Minute // that is remembered
)

// quotas has the requests of a call. Some of their rules have quota_mode. The limits of these are
// shadow limits. The call is denied if all of them deny it.
type quotas struct {
	requests []limit.Request
	is       []bool // whether the request is one of them
	name     string // of the first one, with its key; "" if there is none
	charges  bool   // a request is counted even if the call is denied
}

func quotasOf(asks []ask, requests []limit.Request) *quotas {
	q := &quotas{requests: requests, is: make([]bool, 0, len(requests))}
	for i := range asks {
		a := &asks[i]
		if !a.limited() {
			continue
		}
		if a.rule.Quota && q.name == "" {
			q.name = a.rule.Limit.Rule().Name + ":" + a.key
		}
		q.charges = q.charges || requests[len(q.is)].Charge
		q.is = append(q.is, a.rule.Quota)
	}
	return q
}

// allow asks the limiter about a call. If quotas deny it, it counts for no other limit.
func (s *Service) allow(ctx context.Context, asks []ask) decision {
	q := quotasOf(asks, requestsOf(asks))
	if q.name == "" {
		return decisionOf(s.Limiter.Allow(ctx, q.requests...))
	}
	if until, known := s.denied.Get(q.name); known && time.Now().Before(until) && !q.charges {
		return s.allowInTurn(ctx, q)
	}
	reservation, result := s.Limiter.Reserve(ctx, q.requests...)
	d := decisionOf(result)
	if d.Allowed && s.deny(q, &d) {
		_ = reservation.Settle(ctx, giveBack(q.requests, d.each)...) // hits that cannot be given back stay counted; a metric says how many
	}
	return d
}

// allowInTurn asks about quotas that have denied a call lately, and about the others if they do not deny
// this one. So calls that are denied again have nothing to give back.
func (s *Service) allowInTurn(ctx context.Context, q *quotas) decision {
	first, others := q.split()
	reservation, result := s.Limiter.Reserve(ctx, first...)
	each := result.Each()
	d := decision{result.Decision, q.join(each, nil)}
	if s.deny(q, &d) {
		return d
	}
	s.denied.Remove(q.name)
	rest := s.Limiter.Allow(ctx, others...)
	if !rest.Allowed {
		_ = reservation.Settle(ctx, giveBack(first, each)...)
	}
	return decision{rest.Decision, q.join(each, rest.Each())}
}

// deny denies the call if all quotas do, and remembers it.
func (s *Service) deny(q *quotas, of *decision) bool {
	retryAfter := limit.Never
	var err error
	for i := range q.is {
		d := &of.each[i]
		switch {
		case !q.is[i]:
			continue
		case d.Allowed:
			return false
		case d.Err != nil:
			err = d.Err
		}
		retryAfter = min(retryAfter, d.RetryAfter)
	}
	of.Allowed, of.RetryAfter, of.Err = false, retryAfter, err
	s.denied.Add(q.name, time.Now().Add(min(retryAfter, longestDenial)))
	return true
}

// giveBack returns the costs that a call which is denied leaves counted: those of charges. What remains is as if
// the others were given back already.
func giveBack(requests []limit.Request, each []limit.Decision) []int64 {
	costs := make([]int64, len(requests))
	for i := range requests {
		r, d, rule := &requests[i], &each[i], requests[i].Limit.Rule()
		switch {
		case r.Charge:
			costs[i] = r.Cost
		case d.Allowed && d.Err == nil && !r.Look:
			d.Remaining = min(d.Remaining+r.Cost, cmp.Or(rule.Burst, rule.Quota))
		}
	}
	return costs
}

// split returns the quotas, and the other requests.
func (q *quotas) split() (quotas, others []limit.Request) {
	for i, r := range q.requests {
		if q.is[i] {
			quotas = append(quotas, r)
		} else {
			others = append(others, r)
		}
	}
	return quotas, others
}

// join returns the decisions in the order of the requests; without others, those were not asked about.
func (q *quotas) join(quotas, others []limit.Decision) (each []limit.Decision) {
	for i := range q.requests {
		from := &others
		if q.is[i] {
			from = &quotas
		}
		if len(*from) == 0 {
			each = append(each, limit.Decision{Quota: q.requests[i].Limit.Rule().Quota})
			continue
		}
		each, *from = append(each, (*from)[0]), (*from)[1:]
	}
	return each
}
