package limit

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
)

// Handler returns a handler that takes a place before it calls next, and releases it when next
// has returned or panicked. of returns the key of an HTTP request, or false if it is not
// limited.
//
// Like [Limiter.Handler], it adds the fields RateLimit-Policy, with the quota unit
// concurrent-requests, and RateLimit, with the free places. A request that is denied has the
// status 429 and the field Retry-After, a second, unless the limit is 0. One that is denied
// without Redis, by FailClosed, has the status 503.
//
// The response of a handler that does not flush it ends after the release, so that a client
// that sends one request after the other needs one place. A request goes on if its place is
// lost: a handler that must not uses Acquire and [Hold.Lost].
//
// Around a Limiter's Handler, this one denies requests before they are counted; inside of it,
// requests over a rate limit take no place.
func (c *Concurrency) Handler(next http.Handler, of func(*http.Request) (key string, limited bool)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, limited := of(r)
		if !limited {
			next.ServeHTTP(w, r)
			return
		}
		hold, d := c.Acquire(context.WithoutCancel(r.Context()), key) // else a client that has gone would fail open
		defer hold.Release()
		policy, state := c.Fields(d)
		addFields(w.Header(), policy, state)
		switch {
		case d.Allowed:
			next.ServeHTTP(w, r)
		case d.Outcome() == Mistaken:
			http.Error(w, "the concurrency limit cannot be checked", http.StatusInternalServerError)
		case d.Err != nil:
			http.Error(w, "the concurrency limit cannot be checked now", http.StatusServiceUnavailable)
		default:
			if d.RetryAfter != Never {
				w.Header().Set("Retry-After", strconv.FormatInt(seconds(d.RetryAfter), 10))
			}
			http.Error(w, "too many requests at a time", http.StatusTooManyRequests)
		}
	})
}

// Fields returns the values of the fields RateLimit-Policy and RateLimit for the decision of an
// Acquire, as [Concurrency.Handler] sets them; an empty one is not to be set.
func (c *Concurrency) Fields(d Decision) (policy, state string) {
	if c == nil || c.limiter == nil {
		return "", ""
	}
	if d.Err == nil {
		state = fmt.Sprintf(`"%s";r=%d`, c.rule.Name, d.Remaining)
	}
	return fmt.Sprintf(`"%s";q=%d;qu="concurrent-requests"`, c.rule.Name, c.rule.Limit), state
}
