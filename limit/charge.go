package limit

import "fmt"

// charges reports whether the hits are counted whatever they cost.
func (r *Request) charges() bool { return r.Charge && !r.Look }

func (r *Request) cost() int64 {
	if r.charges() {
		return min(max(r.Cost, 1), mostLimit)
	}
	return max(r.Cost, 1)
}

func (r *Request) badCost() error {
	return fmt.Errorf("limit: Request.Cost = %d of limit %s: must not be negative", r.Cost, r.Limit.rule.Name)
}

// charge makes the draw take the tokens also if there are too few.
func (d *draw) charge() { d.args[4] = "charge" }

// stays reports whether the hits stay counted if the call is denied.
func (a *ask) stays() bool { return a.charge || a.limit.rule.CountDenied }

// retried returns what the hit costs that may be allowed after RetryAfter: the request made
// again or, since a charge is not made again, the smallest one.
func (a *ask) retried() int64 {
	if a.charge {
		return 1
	}
	return a.cost
}
