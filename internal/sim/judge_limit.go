package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// limits: a limiter allows never more than its limits, unless Redis has lost what it had
// counted; what it cannot ask Redis about fails open or closed, as the rule says.
func limits(h *History) string {
	for _, x := range h.Allowances {
		if s := h.consistent(x); s != "" {
			return s
		}
	}
	for at, asks := range h.asked() {
		if rule := &h.Terms.Rules[at.rule]; !h.lostOf(rule, at.key) {
			if s := h.admitted(rule, asks); s != "" {
				return s
			}
		}
	}
	return ""
}

// limited is what a rule counts apart.
type limited struct {
	rule int
	key  string
}

// An asked is an ask with its call.
type asked struct {
	*Ask
	call *Allowance
}

func (a asked) String() string {
	return fmt.Sprintf("%v to %v, %q, cost %d: call allowed %v, request allowed %v, remaining %d, retry after %v, error %v",
		a.call.Began, a.call.Ended, a.Key, a.Cost, a.call.Allowed, a.Allowed, a.Remaining, a.RetryAfter, a.Err)
}

// admits reports whether the hit is one that Redis counted for good.
func (a asked) admits() bool { return a.call.Allowed && a.Allowed && a.Err == nil }

// asked sorts the asks by what counts them, in the order in which their calls began.
func (h *History) asked() map[limited][]asked {
	all := make(map[limited][]asked)
	for _, x := range h.Allowances {
		for i := range x.Asks {
			at := limited{x.Asks[i].Rule, x.Asks[i].Key}
			all[at] = append(all[at], asked{&x.Asks[i], x})
		}
	}
	for _, asks := range all {
		slices.SortStableFunc(asks, func(a, b asked) int { return cmp.Compare(a.call.Began, b.call.Began) })
	}
	return all
}

// lostOf reports whether Redis has lost something that the rule had counted.
func (h *History) lostOf(rule *limit.Rule, key string) bool {
	for lost, yes := range h.Lost {
		if yes && strings.HasPrefix(lost, "limit:"+rule.Name+":") && strings.HasSuffix(lost, ":"+key) {
			return true
		}
	}
	return false
}

// consistent: all or nothing, and what cannot be counted is decided as the rule says.
func (h *History) consistent(x *Allowance) string {
	denied := false
	for i := range x.Asks {
		a, rule := &x.Asks[i], &h.Terms.Rules[x.Asks[i].Rule]
		denied = denied || !a.Allowed && (a.Err != nil || a.RetryAfter > 0)
		switch {
		case x.Allowed && !a.Allowed:
			return fmt.Sprintf("a call was allowed, and a request of it was not: %v", asked{a, x})
		case a.Err != nil && a.Allowed == rule.FailClosed:
			return fmt.Sprintf("a request that Redis did not count: fail closed is %v: %v", rule.FailClosed, asked{a, x})
		}
	}
	if !x.Allowed && !denied {
		return fmt.Sprintf("a call was denied, and none of its requests was: %v", asked{&x.Asks[0], x})
	}
	return ""
}

// admitted: Redis allowed never more than the limit.
func (h *History) admitted(rule *limit.Rule, asks []asked) string {
	asks = slices.DeleteFunc(slices.Clone(asks), func(a asked) bool { return !a.admits() })
	for i, a := range asks {
		sum := int64(0)
		for _, b := range slices.Backward(asks[:i+1]) {
			flowed := 0.0
			if rule.Algorithm == limit.TokenBucket {
				flowed = float64(a.call.Ended-b.call.Began)/float64(rule.Window)*float64(rule.Quota) + 0.01
			} else if h.windowOf(rule, a) != h.windowOf(rule, b) {
				break
			}
			if sum += b.Cost; float64(sum) > float64(rule.Quota)+flowed {
				return fmt.Sprintf("%+v allowed %d hits between %v and %v", *rule, sum, b.call.Began, a.call.Ended)
			}
		}
		if rule.Algorithm == limit.SlidingWindow {
			if s := h.slid(rule, asks[:i+1]); s != "" {
				return s
			}
		}
	}
	return ""
}

// slid: the last of the hits was allowed beside the share of those in the window
// before.
func (h *History) slid(rule *limit.Rule, asks []asked) string {
	last := asks[len(asks)-1]
	now, before := last.Cost, int64(0)
	for _, a := range asks[:len(asks)-1] {
		switch {
		case a.call.Ended > last.call.Began:
		case h.windowOf(rule, a) == h.windowOf(rule, last):
			now += a.Cost
		case h.windowOf(rule, a)+1 == h.windowOf(rule, last):
			before += a.Cost
		}
	}
	left := rule.Window - time.Duration(h.Start.Add(last.call.Began).UnixNano()%int64(rule.Window))
	if share := int64(float64(before) * float64(left) / float64(rule.Window)); now+share > rule.Quota {
		return fmt.Sprintf("%+v allowed %d hits, with %d of the window before: %v", *rule, now, share, last)
	}
	return ""
}

func (h *History) windowOf(rule *limit.Rule, a asked) int64 {
	return h.Start.Add(a.call.Began).UnixNano() / int64(rule.Window)
}
