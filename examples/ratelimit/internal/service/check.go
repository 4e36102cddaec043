package service

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/redislanes/redislanes/limit"
)

// checkHandler answers requests whose query has the domain and descriptors. What is
// limited goes through limit.Limiter.Handler, which writes the fields and the status.
func (s *Service) checkHandler() http.Handler {
	allowed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks, _ := r.Context().Value(asksKey{}).([]ask)
		_, _ = io.WriteString(w, "ok"+unmatched(asks)+"\n")
	})
	limited := s.Limiter.Handler(allowed, func(r *http.Request) []limit.Request {
		asks, _ := r.Context().Value(asksKey{}).([]ask)
		return requestsOf(asks)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		r = r.WithContext(context.WithValue(r.Context(), asksKey{}, asks))
		if !slices.ContainsFunc(asks, func(a ask) bool { return a.limited() }) {
			allowed(w, r)
			return
		}
		permit, ok := s.Shedder.enter()
		if !ok {
			httpError(w, errShed)
			return
		}
		noted := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		// The field RateLimit says that Redis has decided.
		defer func() { permit.leave(noted.status == http.StatusOK && w.Header().Get("RateLimit") != "") }()
		limited.ServeHTTP(noted, r)
	})
}

// asksKey is what the asks of an HTTP request are kept by in its context.
type asksKey struct{}

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
