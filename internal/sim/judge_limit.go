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
	debts := h.debts()
	for _, x := range h.Allowances {
		if s := cmp.Or(h.consistent(x), h.plausible(x, debts)); s != "" {
			return s
		}
	}
	for at, asks := range h.asked() {
		rule := &h.Terms.Rules[at.rule]
		if h.lostOf(rule, at.key) || rule.Name == changed {
			continue
		}
		if s := h.admitted(rule, asks); s != "" {
			return s
		}
	}
	return cmp.Or(h.crowded(), h.conserved())
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

// crowded: no more holders have a place at a moment than there are places.
func (h *History) crowded() string {
	for key, lost := range h.Lost {
		if lost && strings.Contains(key, placesName) {
			return ""
		}
	}
	for _, a := range h.Holds {
		holders := 0
		for _, b := range h.Holds {
			if b.Key == a.Key && b.From <= a.From && a.From < b.To {
				holders++
			}
		}
		if holders > mostHolders {
			return fmt.Sprintf("%d holders of %q at %v, and there are %d places", holders, a.Key, a.From, mostHolders)
		}
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

// debts returns the time that buckets may need to pay what reservations have cost that Redis did
// not count: it is charged when they are settled.
func (h *History) debts() map[[2]string]time.Duration {
	debts := make(map[[2]string]time.Duration)
	for _, x := range h.Allowances {
		for _, a := range x.Asks {
			if rule := &h.Terms.Rules[a.Rule]; a.Settled != nil && a.Err != nil {
				debts[[2]string{rule.Name, a.Key}] += time.Duration(a.Settled.Actual) * rule.Window / time.Duration(max(rule.Quota, 1))
			}
		}
	}
	return debts
}

// plausible: the figures are those that a rule can have.
func (h *History) plausible(x *Allowance, debts map[[2]string]time.Duration) string {
	for i := range x.Asks {
		a, rule := &x.Asks[i], &h.Terms.Rules[x.Asks[i].Rule]
		full := period(rule) + time.Second + debts[[2]string{rule.Name, a.Key}]
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
		sum, at := int64(0), a.Cost // what is counted at least in all, and when the call is decided
		for j, b := range slices.Backward(asks[:i+1]) {
			flowed := 0.0
			if rule.Algorithm == limit.TokenBucket {
				flowed = float64(a.call.Ended-b.call.Began)/float64(rule.Window)*float64(rule.Quota) + 0.01
			} else if h.windowOf(rule, a) != h.windowOf(rule, b) {
				break
			}
			sum += b.least()
			if j < i && b.call.Ended <= a.call.Began {
				at += b.least()
			}
			if most := max(sum, at); float64(most) > float64(capacity(rule))+flowed {
				return fmt.Sprintf("%+v allowed %d hits between %v and %v", *rule, most, b.call.Began, a.call.Ended)
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
			now += a.least()
		case h.windowOf(rule, a)+1 == h.windowOf(rule, last):
			before += a.least()
		}
	}
	left := rule.Window - h.inWindow(rule, last)
	if share := int64(float64(before) * float64(left) / float64(rule.Window)); now+share > rule.Quota {
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

// capacity returns how many hits the rule allows at once.
func capacity(rule *limit.Rule) int64 {
	if rule.Algorithm == limit.TokenBucket {
		return cmp.Or(rule.Burst, rule.Quota)
	}
	return rule.Quota
}

// period returns after how long a hit does not count any more.
func period(rule *limit.Rule) time.Duration {
	switch rule.Algorithm {
	case limit.SlidingWindow:
		return 2 * rule.Window
	case limit.TokenBucket:
		return time.Duration(capacity(rule)) * rule.Window / time.Duration(max(rule.Quota, 1))
	}
	return rule.Window
}

// least returns how many of the hits are counted at least when a later call is decided.
func (a asked) least() int64 {
	if a.Settled == nil {
		return a.Cost
	}
	return min(a.Cost, a.Settled.Actual)
}

// conserved: at the end, the count of a rule with one window equals the hits that callers were
// allowed, with reservations as they were settled. The two may differ by the hits that the
// limiter says are lost. A client that does not check a server's identity may settle at a
// stranger, where nothing was reserved.
func (h *History) conserved() string {
	if h.Terms.Blind && slices.ContainsFunc(h.Foreign, func(e Execution) bool { return strings.Contains(e.Text, "limit:") }) {
		return ""
	}
	for at, asks := range h.asked() {
		rule := &h.Terms.Rules[at.rule]
		if rule.Name != kept || h.lostOf(rule, at.key) {
			continue
		}
		least, most := -h.Kept.Lost, h.Kept.Lost
		for _, a := range asks {
			low, high := a.counts()
			least, most = least+low, most+high
		}
		if n := h.Kept.Counted[at.key]; n < least || n > most {
			return fmt.Sprintf("%q of %+v has %d hits at the end, want %d to %d; %d are lost", at.key, *rule, n, least, most, h.Kept.Lost)
		}
	}
	return ""
}

// counts returns between how many hits are counted of the request when all has settled.
func (a asked) counts() (least, most int64) {
	switch {
	case a.Err == nil && !a.admits():
		return 0, 0
	case a.Settled == nil:
		least, most = a.Cost, a.Cost
	case a.Settled.Err == nil:
		least, most = a.Settled.Actual, a.Settled.Actual
	default:
		least, most = min(a.Cost, a.Settled.Actual), max(a.Cost, a.Settled.Actual)
	}
	if a.Err != nil { // it is unknown whether Redis has counted it
		least, most = 0, max(a.Cost, most)
	}
	return least, most
}
