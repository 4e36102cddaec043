package service

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/redislanes/redislanes/limit/limithttp"
)

// serveCheck answers a request with the domain and descriptors in its query. It sets the same status and
// fields as a handler of package limithttp.
func (s *Service) serveCheck(w http.ResponseWriter, r *http.Request) {
	req, err := parseCheck(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a, err := s.decide(r.Context(), req)
	if err != nil {
		httpError(w, err)
		return
	}
	policy, state := limithttp.Fields(a.told, a.result)
	for name, value := range map[string]string{"RateLimit-Policy": policy, "RateLimit": state} {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	switch code := a.status(w.Header()); code {
	case http.StatusOK:
		_, _ = io.WriteString(w, "ok"+unmatched(a.asks)+"\n") // the client may have gone
	case http.StatusTooManyRequests:
		http.Error(w, "rate limit exceeded", code)
	default:
		http.Error(w, "the rate limit cannot be checked now", code)
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
