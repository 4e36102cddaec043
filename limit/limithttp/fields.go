package limithttp

import (
	"fmt"
	"math/bits"
	"strconv"
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
	var policies, states []byte
	for _, i := range items(requests, result) {
		policies = i.policy.append(policies)
		if i.known {
			states = parameter(named(states, i.name), "r", i.remaining)
			states = optional(states, "t", seconds(i.reset))
		}
	}
	return string(policies), string(states)
}

// PlaceFields returns the values of the same two fields for a decision of the semaphore:
// RateLimit-Policy with the quota unit concurrent-requests, and RateLimit with the free places.
func PlaceFields(s *places.Semaphore, d places.Decision) (policy, state string) {
	c := s.Config()
	if c.Name == "" {
		return "", ""
	}
	if d.Err == nil {
		state = fmt.Sprintf(`"%s";r=%d`, c.Name, d.Free)
	}
	return fmt.Sprintf(`"%s";q=%d;qu="concurrent-requests"`, c.Name, c.Max), state
}

// An item is what is known about a limit.
type item struct {
	policy
	known     bool
	remaining int64
	reset     time.Duration
}

// items returns the limits that the fields tell about, each once, in the order of the requests.
func items(requests []limit.Request, result limit.Result) (all []item) {
	at := make(map[policy]int)
	each := result.Each()
	for i := range min(len(requests), len(each)) {
		rule, d := requests[i].Settings(), &each[i]
		if rule.Name == "" || rule.Shadow || d.Outcome() == "mistaken" {
			continue
		}
		p := policyOf(&rule)
		n, ok := at[p]
		if !ok {
			n = len(all)
			at[p], all = n, append(all, item{policy: p})
		}
		all[n].note(&rule, d)
	}
	return all
}

func (i *item) note(rule *limit.Rule, d *limit.Decision) {
	asked := d.Err == nil && (d.Allowed || d.RetryAfter > 0 && d.RetryAfter != limit.Never)
	if asked && (!i.known || d.Remaining < i.remaining) {
		i.known, i.remaining, i.reset = true, d.Remaining, reset(rule, d)
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

// A policy is a limit as RateLimit-Policy names it.
type policy struct {
	name          string // needs no escape
	quota, window int64
}

func policyOf(r *limit.Rule) policy {
	if r.Burst == 0 {
		return policy{r.Name, r.Quota, seconds(r.Window)}
	}
	hi, lo := bits.Mul64(uint64(r.Window), uint64(r.Burst))
	fill, _ := bits.Div64(hi, lo, uint64(r.Quota))
	return policy{r.Name, r.Burst, seconds(time.Duration(fill))}
}

// append adds the policy's item of RateLimit-Policy to a list.
func (p policy) append(list []byte) []byte {
	return optional(parameter(named(list, p.name), "q", p.quota), "w", p.window)
}

// named adds an item to a list.
func named(list []byte, name string) []byte {
	if len(list) > 0 {
		list = append(list, ", "...)
	}
	return append(append(append(list, '"'), name...), '"')
}

func parameter(list []byte, name string, value int64) []byte {
	return strconv.AppendInt(append(append(append(list, ';'), name...), '='), value, 10)
}

// optional adds a parameter that is not 0.
func optional(list []byte, name string, value int64) []byte {
	if value <= 0 {
		return list
	}
	return parameter(list, name, value)
}
