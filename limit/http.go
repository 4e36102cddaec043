package limit

import (
	"context"
	"math/bits"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Handler returns a handler that asks the limiter before it calls next. of returns the requests
// of an HTTP request, none if it has no limits.
//
// A request that is not passed to next gets one of these:
//
//   - 429 if it is denied, with Retry-After in seconds unless it can never be allowed,
//   - 503 if it is denied without Redis: by FailClosed, or by the process's share of the limit
//     (Config.Instances),
//   - 500 if one of its Requests cannot be used.
//
// The response to a request with limits has two fields of draft-ietf-httpapi-ratelimit-headers,
// version 10. Shadow limits are left out.
//
//   - RateLimit-Policy: the quota of each limit and its window in seconds. If the window is no
//     whole number of seconds, they are those of the next whole number.
//   - RateLimit: what remains, and the seconds until all of it is available again, for the
//     limits that Redis, a lease or the near cache has decided about.
func (l *Limiter) Handler(next http.Handler, of func(*http.Request) []Request) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests := of(r)
		if len(requests) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		result := l.Allow(context.WithoutCancel(r.Context()), requests...) // a client that has gone has had its hit
		policy, state := result.Fields(requests)
		if result.answer(w, policy, state, "the rate limit", "rate limit exceeded") {
			next.ServeHTTP(w, r)
		}
	})
}

// answer adds the fields that are not empty; a handler within this one may have its own. It reports whether
// the request is allowed. Otherwise it responds, about a limit that is called of.
func (d *Decision) answer(w http.ResponseWriter, policy, state, of, denied string) (allowed bool) {
	if policy != "" {
		w.Header().Add("RateLimit-Policy", policy)
	}
	if state != "" {
		w.Header().Add("RateLimit", state)
	}
	switch {
	case d.Allowed:
		return true
	case d.Outcome() == Mistaken:
		http.Error(w, of+" cannot be checked", http.StatusInternalServerError)
	case d.Err != nil:
		http.Error(w, of+" cannot be checked now", http.StatusServiceUnavailable)
	default:
		if d.RetryAfter != Never {
			w.Header().Set("Retry-After", strconv.FormatInt(seconds(d.RetryAfter), 10))
		}
		http.Error(w, denied, http.StatusTooManyRequests)
	}
	return false
}

// Fields returns the values of the fields RateLimit-Policy and RateLimit for the result and
// its requests, as [Limiter.Handler] sets them. Do not set an empty field. Each limit is in
// a field once. If several requests ask about it, RateLimit has the fewest hits remaining. Limits
// of one name with other quotas or windows have items of their own.
func (r Result) Fields(requests []Request) (policy, state string) {
	var policies, states []byte
	requests = requests[:min(len(r.Each), len(requests))]
	for i := range requests {
		if !requests[i].Limit.made() || requests[i].Limit.rule.Shadow {
			continue
		}
		rule := &requests[i].Limit.rule
		quota, span := rule.policy()
		same := func(q Request) bool {
			if !q.Limit.made() || q.Limit.rule.Shadow || q.Limit.rule.Name != rule.Name {
				return false
			}
			n, w := q.Limit.rule.policy()
			return n == quota && w == span
		}
		if slices.ContainsFunc(requests[:i], same) {
			continue
		}
		policies = appendItem(policies, rule.Name, 'q', quota, 'w', span)
		var least *Decision
		for j := i; j < len(requests); j++ {
			d := &r.Each[j]
			if known := d.Err == nil && (d.Allowed || d.ResetAfter > 0); known && same(requests[j]) && (least == nil || d.Remaining < least.Remaining) {
				least = d
			}
		}
		if least != nil {
			states = appendItem(states, rule.Name, 'r', least.Remaining, 't', seconds(least.ResetAfter))
		}
	}
	return string(policies), string(states)
}

// appendItem appends an item of a list of structured fields (RFC 9651): a name,
// whose letters need no escape, and two parameters.
func appendItem(to []byte, name string, first byte, a int64, second byte, b int64) []byte {
	if to != nil {
		to = append(to, ", "...)
	}
	to = append(to, '"')
	to = append(to, name...)
	to = append(to, '"', ';', first, '=')
	to = strconv.AppendInt(to, a, 10)
	to = append(to, ';', second, '=')
	return strconv.AppendInt(to, b, 10)
}

// policy returns a quota and its window in seconds. Windows that are no whole number of
// seconds are rounded up, and their quota with them.
func (r *Rule) policy() (quota, window int64) {
	window = seconds(r.Window)
	hi, lo := bits.Mul64(uint64(r.Limit), uint64(window)*uint64(time.Second))
	q, _ := bits.Div64(hi, lo, uint64(r.Window))
	return int64(q), window
}

// seconds returns the time in whole seconds, rounded up: a client that comes back
// then does not come too early.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
