package service

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limithttp"
)

// serveCheck answers a request with the domain and descriptors in its query. It sets the same status and
// fields as limit.Limiter.Handler. It does not use Handler, because the shedder needs the Result: only that
// tells whether the call was one round trip.
func (s *Service) serveCheck(w http.ResponseWriter, r *http.Request) {
	req, err := parseCheck(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asks, err := s.read(req)
	if err != nil {
		httpError(w, err)
		return
	}
	if requests := requestsOf(asks); len(requests) > 0 {
		result, ok := s.allowOnce(r.Context(), requests)
		if !ok {
			httpError(w, errShed)
			return
		}
		setFields(w.Header(), result, requests)
		if !result.Allowed {
			s.writeDenied(w, result)
			return
		}
	}
	_, _ = io.WriteString(w, "ok"+unmatched(asks)+"\n") // the client may have gone
}

// allowOnce asks the limiter, unless the shedder refuses the call.
func (s *Service) allowOnce(ctx context.Context, requests []limit.Request) (result limit.Result, ok bool) {
	permit, ok := s.Shedder.enter()
	if !ok {
		return result, false
	}
	ctx = context.WithoutCancel(ctx) // a client that has gone has had its hit
	defer func() { permit.leave(oneTrip(ctx, decisionOf(result))) }()
	return s.Limiter.Allow(ctx, requests...), true
}

// setFields sets the fields RateLimit-Policy and RateLimit, unless they are empty.
func setFields(h http.Header, result limit.Result, requests []limit.Request) {
	policy, state := limithttp.Fields(requests, result)
	if policy != "" {
		h.Set("RateLimit-Policy", policy)
	}
	if state != "" {
		h.Set("RateLimit", state)
	}
}

// writeDenied writes the status of a result that is not allowed.
func (s *Service) writeDenied(w http.ResponseWriter, result limit.Result) {
	switch {
	case result.Outcome() == "mistaken":
		s.Log.Error("a request that the service has made is a mistake", "error", result.Err)
		http.Error(w, "the rate limit cannot be checked", http.StatusInternalServerError)
	case result.Err != nil:
		http.Error(w, "the rate limit cannot be checked now", http.StatusServiceUnavailable)
	default:
		if result.RetryAfter != limit.Never {
			w.Header().Set("Retry-After", strconv.FormatInt(seconds(result.RetryAfter), 10))
		}
		http.Error(w, "rate limit exceeded", http.StatusTooManyRequests)
	}
}

// unmatched says which descriptors match no rule, by their numbers from 1 on.
func unmatched(asks []ask) string {
	var numbers []string
	for i := range asks {
		if asks[i].unmatched {
			numbers = append(numbers, strconv.Itoa(i+1))
		}
	}
	if numbers == nil {
		return ""
	}
	return ": no rule matches descriptor " + strings.Join(numbers, ", ")
}

// parseCheck reads a query such as
//
//	domain=shop&descriptor=plan=free,user=42&descriptor=ip=203.0.113.9&hits=2
//
// Commas separate the entries of a descriptor. A comma, an equals sign or a percent
// sign in a key or a value is escaped once more than the query is: %252C, %253D, %2525.
func parseCheck(query string) (*pb.RateLimitRequest, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the query cannot be read: %w", err)
	}
	req := new(pb.RateLimitRequest)
	for name, all := range values {
		switch {
		case name == "descriptor":
			for _, text := range all {
				d, err := parseDescriptor(text)
				if err != nil {
					return nil, err
				}
				req.Descriptors = append(req.Descriptors, d)
			}
		case len(all) > 1:
			return nil, fmt.Errorf("the query has %q %d times: want it once", name, len(all))
		case name == "domain":
			req.Domain = all[0]
		case name == "hits":
			hits, err := strconv.ParseUint(all[0], 10, 32)
			if err != nil || hits == 0 {
				return nil, fmt.Errorf("hits = %q: want a whole number, 1 to 4294967295", all[0])
			}
			req.HitsAddend = uint32(hits)
		default:
			return nil, fmt.Errorf("the query has an unknown name %q: want domain, descriptor or hits", name)
		}
	}
	return req, nil
}

func parseDescriptor(text string) (*ratelimit.RateLimitDescriptor, error) {
	d := new(ratelimit.RateLimitDescriptor)
	for entry := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(entry, "=")
		k, err := url.PathUnescape(key)
		if err == nil {
			value, err = url.PathUnescape(value)
		}
		if err != nil || k == "" {
			return nil, fmt.Errorf("descriptor = %q: want key=value, or several with commas between them", text)
		}
		d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: k, Value: value})
	}
	return d, nil
}
