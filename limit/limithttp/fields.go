package limithttp

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/places"
)

// Fields returns the values of two fields of draft-ietf-httpapi-ratelimit-headers, version 10, for
// requests and their result. Do not set an empty field. Shadow limits and mistaken requests are left out.
//
//   - RateLimit-Policy: how many hits each limit allows at once, and the seconds until all of them are
//     allowed again: the quota and the window, or the burst of a bucket and the time in which it fills up.
//     A Calendar has no seconds, since its windows have several lengths.
//   - RateLimit: how many hits remain, and the seconds until there are more, for the limits that Redis,
//     a lease or the near cache has decided about. A full bucket has no seconds.
//
// Seconds are rounded up. Each limit is in a field once. If several requests ask about it, RateLimit has
// the fewest hits remaining. Limits of one name with other quotas or windows have items of their own.
func Fields(requests []limit.Request, result limit.Result) (policy, state string) {
	var policies, states []string
	var fewest []int64
	at := make(map[string]int) // by policy
	for rule, d := range shown(requests, result) {
		p := policyOf(&rule)
		i, known := at[p]
		if !known {
			i = len(policies)
			at[p], policies, states, fewest = i, append(policies, p), append(states, ""), append(fewest, math.MaxInt64)
		}
		asked := d.Err == nil && (d.Allowed || d.RetryAfter > 0 && d.RetryAfter != limit.Never)
		if asked && d.Remaining < fewest[i] {
			states[i], fewest[i] = entry(rule.Name, ";r=", d.Remaining)+after(";t=", reset(&rule, d)), d.Remaining
		}
	}
	states = slices.DeleteFunc(states, func(s string) bool { return s == "" })
	return strings.Join(policies, ", "), strings.Join(states, ", ")
}

// PlaceFields returns the values of the same two fields for a decision of the semaphore:
// RateLimit-Policy with the quota unit concurrent-requests, and RateLimit with the free places.
func PlaceFields(s *places.Semaphore, d places.Decision) (policy, state string) {
	c := s.Config()
	if c.Name == "" {
		return "", ""
	}
	if d.Err == nil {
		state = entry(c.Name, ";r=", d.Free)
	}
	return entry(c.Name, ";q=", c.Max) + `;qu="concurrent-requests"`, state
}

// shown iterates over the limits that a response tells about, without shadow limits and mistakes.
func shown(requests []limit.Request, result limit.Result) iter.Seq2[limit.Rule, *limit.Decision] {
	return func(yield func(limit.Rule, *limit.Decision) bool) {
		each := result.Each()
		for i := range min(len(requests), len(each)) {
			rule, d := requests[i].Settings(), &each[i]
			if rule.Name != "" && !rule.Shadow && d.Outcome() != "mistaken" && !yield(rule, d) {
				return
			}
		}
	}
}

// reset returns the time until more hits are allowed, at the latest. It is that of Retry-After if the request
// is denied, because Retry-After should not be earlier.
func reset(rule *limit.Rule, d *limit.Decision) time.Duration {
	switch {
	case d.RetryAfter > 0:
		return d.RetryAfter
	case rule.Algorithm == limit.SlidingWindow: // when the next window begins, hits of this one begin to go
		return d.ResetAfter - rule.Window
	case rule.Algorithm == limit.TokenBucket:
		return min(d.ResetAfter, max(1, rule.Window/time.Duration(rule.Quota)))
	}
	return d.ResetAfter
}

// policyOf returns the item of RateLimit-Policy.
func policyOf(r *limit.Rule) string {
	quota, window := r.Quota, r.Window
	if r.Burst > 0 {
		hi, lo := bits.Mul64(uint64(window), uint64(r.Burst))
		fill, _ := bits.Div64(hi, lo, uint64(quota))
		quota, window = r.Burst, time.Duration(fill)
	}
	return entry(r.Name, ";q=", quota) + after(";w=", window)
}

// entry returns an item with a parameter. The name needs no escape.
func entry(name, parameter string, value int64) string {
	return `"` + name + `"` + parameter + strconv.FormatInt(value, 10)
}

// after returns a parameter in seconds, unless it is 0.
func after(parameter string, d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return parameter + seconds(d)
}

// seconds returns the time in whole seconds, rounded up, so that a client does not come back too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
