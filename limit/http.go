package limit

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Handler returns a handler that asks the limiter before it calls next: of names the
// requests of an HTTP request, none if it has no limits.
//
// Every response has the fields RateLimit-Policy, with the quota and the window in
// seconds of each limit that is not in the shadow (of a bucket, the burst and the time
// in which it flows in), and RateLimit, with what remains and the seconds until all is
// there again, of those that Redis has decided about
// (draft-ietf-httpapi-ratelimit-headers, version 10). One that is denied has the
// status 429 and the field Retry-After, in seconds, unless it can never be allowed.
// One that is denied without Redis, by FailClosed, has the status 503.
func (l *Limiter) Handler(next http.Handler, of func(*http.Request) []Request) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests := of(r)
		if len(requests) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		result := l.Allow(context.WithoutCancel(r.Context()), requests...) // a client that has gone has had its hit
		setFields(w.Header(), requests, result)
		switch {
		case result.Allowed:
			next.ServeHTTP(w, r)
		case result.Err != nil:
			http.Error(w, "the rate limit cannot be checked now", http.StatusServiceUnavailable)
		default:
			if result.RetryAfter != Never {
				w.Header().Set("Retry-After", strconv.FormatInt(seconds(result.RetryAfter), 10))
			}
			http.Error(w, "rate limit exceeded", http.StatusTooManyRequests)
		}
	})
}

func setFields(h http.Header, requests []Request, result Result) {
	var policy, state []byte
	for i, d := range result.Each {
		if requests[i].Limit == nil || requests[i].Limit.rule.Shadow {
			continue
		}
		rule := &requests[i].Limit.rule
		if slices.ContainsFunc(requests[:i], func(q Request) bool { return q.Limit != nil && q.Limit.rule.Name == rule.Name }) {
			continue // a list has each name once
		}
		span := rule.Window
		if rule.Algorithm == TokenBucket {
			span = rule.refill() // in which the burst flows in
		}
		policy = appendItem(policy, rule.Name, 'q', rule.burst(), 'w', seconds(span))
		if d.Err == nil && d.ResetAfter > 0 {
			state = appendItem(state, rule.Name, 'r', d.Remaining, 't', seconds(d.ResetAfter))
		}
	}
	if policy != nil {
		h.Set("RateLimit-Policy", string(policy))
	}
	if state != nil {
		h.Set("RateLimit", string(state))
	}
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

// seconds returns the time in whole seconds, rounded up: a client that comes back
// then does not come too early.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
