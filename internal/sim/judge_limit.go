package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// limits: a limiter allows never more than its limits, and denies nothing that they
// leave room for; what it cannot ask Redis about fails open or closed, as the rule
// says, within the budget.
func limits(h *History) string {
	for _, x := range h.Allowances {
		for _, look := range []func(*Allowance) string{h.budget, h.consistent, h.plausible} {
			if s := look(x); s != "" {
				return s
			}
		}
	}
	counted := h.countedKeys()
	for at, asks := range h.asked() {
		rule := &h.Terms.Rules[at.rule]
		if s := h.stays(rule, counted[[2]string{rule.Name, at.key}], asks); s != "" {
			return s
		}
		if h.lostOf(rule, at.key) || rule.Name == changed {
			continue
		}
		for _, look := range []func(*limit.Rule, []asked) string{h.admitted, h.justified, h.sharedOut} {
			if s := look(rule, asks); s != "" {
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

// budget: the call returned within the budget, and by its context's end.
func (h *History) budget(x *Allowance) string {
	by, own := x.Began+h.Terms.Budget, true
	if x.Limit > 0 && x.Limit < by {
		by, own = x.Limit, false
	}
	slack := h.slackOf(&Call{Began: x.Began, Ended: x.Ended, Deadline: own || x.Deadline})
	if x.Ended > max(by, x.Began)+slack {
		return fmt.Sprintf("a call began at %v, had to be decided by %v, and was at %v: %v", x.Began, by, x.Ended, x.Asks)
	}
	return ""
}

// consistent: all or nothing, and what cannot be counted is decided as the rule says.
func (h *History) consistent(x *Allowance) string {
	denied := false
	for i := range x.Asks {
		a, rule := &x.Asks[i], &h.Terms.Rules[x.Asks[i].Rule]
		refused := !a.Allowed && (a.Err != nil || a.RetryAfter > 0)
		denied = denied || refused && !rule.Shadow
		switch {
		case x.Allowed && !a.Allowed && !rule.Shadow:
			return fmt.Sprintf("a call was allowed, and a request of it was not: %v", asked{a, x})
		case a.Err != nil && h.Terms.Instances == 0 && a.Allowed == rule.FailClosed:
			return fmt.Sprintf("a request that Redis did not count: fail closed is %v: %v", rule.FailClosed, asked{a, x})
		}
	}
	if !x.Allowed && !denied {
		return fmt.Sprintf("a call was denied, and none of its requests was: %v", asked{&x.Asks[0], x})
	}
	return ""
}

// plausible: the figures are those that a rule can have.
func (h *History) plausible(x *Allowance) string {
	for i := range x.Asks {
		a, rule := &x.Asks[i], &h.Terms.Rules[x.Asks[i].Rule]
		full := period(rule) + time.Second
		if a.Remaining < 0 || a.Remaining > capacity(rule) || a.RetryAfter < 0 || a.RetryAfter > full && a.RetryAfter != limit.Never || a.ResetAfter > full {
			return fmt.Sprintf("figures that %+v cannot have: %v, reset after %v", *rule, asked{a, x}, a.ResetAfter)
		}
	}
	return ""
}

// admitted: Redis allowed never more than the limit.
func (h *History) admitted(rule *limit.Rule, asks []asked) string {
	asks = slices.DeleteFunc(slices.Clone(asks), func(a asked) bool { return !a.admits() })
	if rule.Shadow {
		return ""
	}
	for i, a := range asks {
		sum := int64(0)
		for _, b := range slices.Backward(asks[:i+1]) {
			flowed := 0.0
			if rule.Algorithm == limit.TokenBucket {
				flowed = float64(a.call.Ended-b.call.Began)/float64(rule.Window)*float64(rule.Limit) + 0.01
			} else if h.windowOf(rule, a) != h.windowOf(rule, b) {
				break
			}
			if sum += b.Cost; float64(sum) > float64(capacity(rule))+flowed {
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
	left := rule.Window - h.inWindow(rule, last)
	if share := int64(float64(before) * float64(left) / float64(rule.Window)); now+share > rule.Limit {
		return fmt.Sprintf("%+v allowed %d hits, with %d of the window before: %v", *rule, now, share, last)
	}
	return ""
}

func (h *History) windowOf(rule *limit.Rule, a asked) int64 {
	return h.Start.Add(a.call.Began).UnixNano() / int64(rule.Window)
}

// inWindow returns how much of its window had passed when the call began.
func (h *History) inWindow(rule *limit.Rule, a asked) time.Duration {
	return time.Duration(h.Start.Add(a.call.Began).UnixNano() % int64(rule.Window))
}

// justified: what was denied had no room beside those that were allowed, and those that
// may not have been taken back.
func (h *History) justified(rule *limit.Rule, asks []asked) string {
	if h.Terms.FewCalls || h.Terms.Budget <= h.Terms.RoundTrip+time.Millisecond {
		return ""
	}
	for _, a := range asks {
		if a.Err != nil && a.hasTime(h) && !h.troubled(a.call.Began-healing, a.call.Ended) && !h.closedBy(a.call.Ended) &&
			!h.crowded(&Call{Began: a.call.Began, Ended: a.call.Ended}) && h.Terms.Parting < h.Terms.Budget {
			return fmt.Sprintf("%+v was not counted, two seconds after the last fault: %v", *rule, a)
		}
	}
	settled := 3*h.Terms.Budget + 2*h.Terms.RoundTrip // until the near cache has forgotten hits as large
	for i, a := range asks {
		from := a.call.Began - period(rule) - settled
		if a.Allowed || a.Err != nil || a.RetryAfter == 0 || a.RetryAfter == limit.Never || h.troubled(from-healing, a.call.Ended) ||
			h.crowded(&Call{Began: from, Ended: a.call.Ended}) || h.closedBy(a.call.Ended) {
			continue
		}
		used := a.Cost
		for k, b := range asks {
			if k == i || b.call.Ended < from || b.call.Began > a.call.Ended {
				continue
			}
			if rule.CountDenied || b.admits() || b.Err != nil || b.call.Ended >= a.call.Began-h.takenBack(a, b, settled) || h.replaced(b.call) || h.waited(b.call) {
				used += b.Cost
			}
		}
		if used <= capacity(rule) {
			return fmt.Sprintf("%+v denied a hit although there were %d at most: %v", *rule, used, a)
		}
	}
	return ""
}

// takenBack returns how long before the hit another one ended that may count still. Of
// those on keys that one call asks about only the near cache may remember that long, and
// those that are no larger.
func (h *History) takenBack(a, b asked, settled time.Duration) time.Duration {
	if strings.HasPrefix(a.Key, onesOwn) && (!a.Near || b.Cost > a.Cost) {
		return 4*h.Terms.RoundTrip + 10*time.Millisecond
	}
	return settled
}

// hasTime reports whether the budget, and the context, leave time for a connection to be
// made anew.
func (a asked) hasTime(h *History) bool {
	enough := h.Terms.anew()
	return h.Terms.Roomy && h.Terms.Budget > enough && (a.call.Limit == 0 || a.call.Deadline && a.call.Limit-a.call.Began > enough)
}

// anew is how long a connection may take to be made anew, and a command over it.
func (t *Terms) anew() time.Duration { return 12*t.RoundTrip + 20*time.Millisecond }

// capacity returns how many hits the rule allows at once.
func capacity(rule *limit.Rule) int64 {
	if rule.Algorithm == limit.TokenBucket {
		return cmp.Or(rule.Burst, rule.Limit)
	}
	return rule.Limit
}

// period returns after how long a hit does not count any more.
func period(rule *limit.Rule) time.Duration {
	switch rule.Algorithm {
	case limit.SlidingWindow:
		return 2 * rule.Window
	case limit.TokenBucket:
		return time.Duration(capacity(rule)) * rule.Window / time.Duration(rule.Limit)
	}
	return rule.Window
}

// sharedOut: what was denied without Redis had no room in this process' share.
func (h *History) sharedOut(rule *limit.Rule, asks []asked) string {
	if h.Terms.Instances == 0 || rule.Limit == 0 {
		return ""
	}
	share := float64(capacity(rule)) / float64(h.Terms.Instances)
	for i, a := range asks {
		if a.Err == nil || a.Allowed {
			continue
		}
		used := 0.0
		for k, b := range asks {
			if k != i && b.Err != nil && b.Allowed && b.call.Began <= a.call.Ended && (b.call.Allowed || b.call.Ended >= a.call.Began) {
				used += float64(b.Cost)
			}
		}
		if used == 0 {
			return fmt.Sprintf("%+v denied a hit in place of Redis, of which a share of %.1f was not used: %v", *rule, share, a)
		}
	}
	return ""
}
