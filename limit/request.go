package limit

import (
	"errors"
	"fmt"

	"github.com/redislanes/redislanes"
)

// Settings returns the rule that the request asks about: that of its Limit or, without one, its Rule. It returns the
// zero Rule if that cannot be used.
func (r *Request) Settings() Rule {
	if r.Limit != nil || r.Rule.validate() != nil {
		return r.Limit.Rule()
	}
	return r.Rule
}

// limitOf returns the limit of a request, or nil and why there is none.
func (l *Limiter) limitOf(r *Request, d *Decision) *Limit {
	switch {
	case r.Limit.made():
		return r.Limit
	case r.Limit != nil || r.Rule == (Rule{}):
		d.Err = errNoLimit
		return nil
	}
	if of, ok := l.rules.Get(r.Rule); ok {
		return of
	}
	of, err := r.Rule.New(l)
	if err != nil {
		d.Err = err
		return nil
	}
	if first, ok, _ := l.rules.PeekOrAdd(r.Rule, of); ok {
		return first
	}
	return of
}

// lends reports whether a lease may decide about the request. What it has of a bucket cannot be given back.
func (l *Limit) lends(r *Request) bool {
	return l.leases && !(r.reserved && l.rule.Algorithm == TokenBucket)
}

func (r *Request) kind() kind {
	switch {
	case r.Look:
		return kindLook
	case r.Charge:
		return kindCharge
	}
	return kindTake
}

func (r *Request) cost() int64 {
	if r.kind() == kindCharge {
		return min(max(r.Cost, 1), mostLimit)
	}
	return max(r.Cost, 1)
}

func (r *Request) badCost(of *Limit) error {
	return fmt.Errorf("limit: Request.Cost = %d of limit %s: must not be negative", r.Cost, of.rule.Name)
}

var (
	errNotMade    = errors.New("limit: the Limiter was not made by New: use one that it returned without an error")
	errNoLimit    = errors.New("limit: Request.Limit is nil and Request.Rule is empty, or the Limit was not made by Rule.New: set one of them")
	errLookAtMost = errors.New("limit: AllowAtMost with Request.Look: call Allow, and read Decision.Remaining")
	errClosed     = fmt.Errorf("redislanes: the Limiter is %w", redislanes.ErrClosed)
	errNilContext = errors.New("limit: the context is nil: pass one, such as context.Background()")
)
