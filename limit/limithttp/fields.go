package limithttp

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/places"
)

// Fields returns the values of two fields of draft-ietf-httpapi-ratelimit-headers, version 10, for
// requests and their result. Do not set an empty field. Shadow limits are left out.
//
//   - RateLimit-Policy: the quota of each limit and its window in seconds. If the window is no
//     whole number of seconds, they are those of the next whole number.
//   - RateLimit: what remains, and the seconds until all of it is available again, for the
//     limits that Redis, a lease or the near cache has decided about.
//
// Each limit is in a field once. If several requests ask about it, RateLimit has the fewest hits
// remaining. Limits of one name with other quotas or windows have items of their own.
func Fields(requests []limit.Request, result limit.Result) (policy, state string) {
	var policies, states []string
	requests = requests[:min(len(result.Each()), len(requests))]
	for i := range requests {
		p := policyOf(requests[i])
		if p == "" || slices.Contains(policies, p) {
			continue
		}
		policies = append(policies, p)
		var least *limit.Decision
		for j := i; j < len(requests); j++ {
			d := &result.Each()[j]
			if known := d.Err == nil && (d.Allowed || d.ResetAfter > 0); known && policyOf(requests[j]) == p && (least == nil || d.Remaining < least.Remaining) {
				least = d
			}
		}
		if least != nil {
			states = append(states, fmt.Sprintf(`"%s";r=%d;t=%d`, requests[i].Limit.Rule().Name, least.Remaining, seconds(least.ResetAfter)))
		}
	}
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
		state = fmt.Sprintf(`"%s";r=%d`, c.Name, d.Free)
	}
	return fmt.Sprintf(`"%s";q=%d;qu="concurrent-requests"`, c.Name, c.Max), state
}

// policyOf returns the limit's item of RateLimit-Policy, or "" without a limit and for one in the shadow. Its
// name needs no escape. Windows that are no whole number of seconds are rounded up, and their quota
// with them.
func policyOf(r limit.Request) string {
	rule := r.Limit.Rule()
	if rule.Name == "" || rule.Shadow {
		return ""
	}
	window := seconds(rule.Window)
	hi, lo := bits.Mul64(uint64(rule.Quota), uint64(window)*uint64(time.Second))
	quota, _ := bits.Div64(hi, lo, uint64(rule.Window))
	return fmt.Sprintf(`"%s";q=%d;w=%d`, rule.Name, quota, window)
}
