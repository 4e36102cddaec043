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

// limitOf returns the limit of a request, and what is wrong with the request.
func (l *Limiter) limitOf(r *Request) (of *Limit, err error) {
	switch of = r.Limit; {
	case of.made():
	case of != nil || r.Rule == (Rule{}):
		return nil, errNoLimit
	default:
		if of, err = l.limitBy(r.Rule); err != nil {
			return nil, err
		}
	}
	if r.Cost < 0 {
		return of, fmt.Errorf("limit: Request.Cost = %d of limit %s: must not be negative", r.Cost, of.rule.Name)
	}
	return of, nil
}

// limitBy returns the limit of a rule that came with a request.
func (l *Limiter) limitBy(rule Rule) (*Limit, error) {
	if of, ok := l.rules.Get(rule); ok {
		return of, nil
	}
	of, err := rule.New(l)
	if err != nil {
		return nil, err
	}
	if first, ok, _ := l.rules.PeekOrAdd(rule, of); ok {
		return first, nil
	}
	return of, nil
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

var (
	errNotMade    = errors.New("limit: the Limiter was not made by New: use one that it returned without an error")
	errNoLimit    = errors.New("limit: Request.Limit is nil and Request.Rule is empty, or the Limit was not made by Rule.New: set one of them")
	errLookAtMost = errors.New("limit: AllowAtMost with Request.Look: call Allow, and read Decision.Remaining")
	errClosed     = fmt.Errorf("redislanes: the Limiter is %w", redislanes.ErrClosed)
	errNilContext = errors.New("limit: the context is nil: pass one, such as context.Background()")
)
