package limit

import (
	"context"
	"fmt"
	"net/http"
)

// Handler returns a handler that takes a place before it calls next, and releases it when next
// has returned or panicked. of returns the key of an HTTP request, or false if it is not
// limited.
//
// A denied request gets the status 429 with a Retry-After of a second, or without one if the
// limit is 0. A request that is denied without Redis, by FailClosed, gets 503. If the Concurrency
// was not made by [Limiter.Concurrency], all requests get 500. Like
// [Limiter.Handler], it adds RateLimit-Policy, with the quota unit concurrent-requests, and
// RateLimit, with the free places.
//
// A client that sends its requests one after the other over one HTTP/1.1 connection needs one place.
// Over several connections it may need two: if next flushes the response or sets its Content-Length,
// the client may have the response before the place is released.
//
// If a request loses its place, it goes on. Use Acquire and [Hold.Lost] if it must stop.
//
// Put this handler around that of a Limiter, and requests without a place are not counted. Put
// it inside, and requests over a rate limit take no place.
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
		if d.answer(w, policy, state, "the concurrency limit", "too many requests at a time") {
			next.ServeHTTP(w, r)
		}
	})
}

// Fields returns the values of the fields RateLimit-Policy and RateLimit for the decision of an
// Acquire, as [Concurrency.Handler] sets them. Do not set an empty field.
func (c *Concurrency) Fields(d Decision) (policy, state string) {
	if c == nil || c.limiter == nil {
		return "", ""
	}
	if d.Err == nil {
		state = fmt.Sprintf(`"%s";r=%d`, c.rule.Name, d.Remaining)
	}
	return fmt.Sprintf(`"%s";q=%d;qu="concurrent-requests"`, c.rule.Name, c.rule.Limit), state
}
