package limithttp

import (
	"context"
	"net/http"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/places"
)

// Handler returns a handler that asks the limiter before it calls next. of returns the requests
// of an HTTP request, none if it has no limits.
//
// A request that is not passed to next gets one of these:
//
//   - 429 if it is denied, with Retry-After in seconds unless it can never be allowed,
//   - 503 if it is denied without Redis: by FailClosed, or by the process's share of the limit
//     (limit.Config.Instances),
//   - 500 if a limit.Request cannot be used.
//
// The response to a request with limits has the two fields of [Fields]. Nested handlers add theirs. A
// request counts even if its client has gone. next gets the http.ResponseWriter as it is.
func Handler(l *limit.Limiter, next http.Handler, of func(*http.Request) []limit.Request) http.Handler {
	return Config{}.Handler(l, next, of)
}

// Handler is the function [Handler] with the settings.
func (c Config) Handler(l *limit.Limiter, next http.Handler, of func(*http.Request) []limit.Request) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests := of(r)
		if len(requests) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		result := l.Allow(context.WithoutCancel(r.Context()), requests...)
		policy, state := Fields(requests, result)
		addFields(w.Header(), policy, state)
		if result.Allowed {
			next.ServeHTTP(w, r)
			return
		}
		c.deny(w, result.Decision, "rate limit exceeded", "the rate limit", c.denied(requests, result)...)
	})
}

// Places returns a handler that takes a place before it calls next, and releases it when next
// has returned or panicked. of returns the key of an HTTP request, or false if it is not
// limited.
//
// A request without a place gets the status 429 with a Retry-After of a second. If it is denied without
// Redis, by FailClosed, it gets 503. The response has the two fields of [PlaceFields].
//
// A client that sends its requests one after the other over one HTTP/1.1 connection needs one place.
// Over several connections it may need two: if next flushes the response or sets its Content-Length,
// the client may have the response before the place is released.
//
// If a request loses its place, it goes on. Use Acquire and Hold.Lost if it must stop.
//
// Put this handler around that of a Limiter, and requests without a place are not counted. Put
// it inside, and requests over a rate limit take no place.
func Places(s *places.Semaphore, next http.Handler, of func(*http.Request) (key string, limited bool)) http.Handler {
	return Config{}.Places(s, next, of)
}

// Places is the function [Places] with the settings.
func (c Config) Places(s *places.Semaphore, next http.Handler, of func(*http.Request) (key string, limited bool)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, limited := of(r)
		if !limited {
			next.ServeHTTP(w, r)
			return
		}
		hold, d := s.Acquire(context.WithoutCancel(r.Context()), key) // else a client that has gone would fail open
		defer hold.Release()
		policy, state := PlaceFields(s, d)
		addFields(w.Header(), policy, state)
		if d.Allowed {
			next.ServeHTTP(w, r)
			return
		}
		c.deny(w, limit.Decision{RetryAfter: d.RetryAfter, Err: d.Err}, "too many requests at a time", "the concurrency limit", s.Config().Name)
	})
}

// addFields adds the fields that are not empty. A handler around this one may have added its own.
func addFields(h http.Header, policy, state string) {
	if policy != "" {
		h.Add("RateLimit-Policy", policy)
	}
	if state != "" {
		h.Add("RateLimit", state)
	}
}
