package sim

import (
	"time"

	"github.com/redislanes/redislanes/limit"
)

// honestLimits adds calls of a limiter in one window: of three hits the third is
// denied, also by a bucket; and one that Redis did not count fails closed.
func honestLimits(h *History) {
	h.Start = time.Unix(1e9, 0)
	h.Terms.Budget = 100 * time.Millisecond
	h.Terms.Rules = []limit.Rule{
		{Name: "fixed", Limit: 2, Window: 10 * time.Second},
		{Name: "sliding", Limit: 4, Window: 10 * time.Second, Algorithm: limit.SlidingWindow},
		{Name: "bucket", Limit: 2, Window: 10 * time.Second, Algorithm: limit.TokenBucket},
		{Name: "closed", Limit: 2, Window: 10 * time.Second, FailClosed: true},
	}
	ask := func(at time.Duration, allowed bool, rule int, cost int64, d limit.Decision) {
		d.Allowed = allowed
		h.Allowances = append(h.Allowances, &Allowance{Began: at, Ended: at + time.Millisecond, Asks: []Ask{{rule, "u", cost, d}}, Allowed: allowed})
	}
	for _, rule := range []int{0, 2} {
		ask(52*time.Second, true, rule, 1, limit.Decision{Remaining: 1})
		ask(53*time.Second, true, rule, 1, limit.Decision{})
		ask(54*time.Second, false, rule, 1, limit.Decision{RetryAfter: 5 * time.Second})
	}
	ask(45*time.Second, true, 1, 4, limit.Decision{})
	ask(55*time.Second, true, 1, 2, limit.Decision{})
	ask(21*time.Second, false, 3, 1, limit.Decision{Err: errUnknown})
}
