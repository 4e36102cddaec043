package limithttp

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/redislanes/redislanes/limit"
)

// Config has the settings of handlers. The zero Config is that of [Handler] and [Places].
type Config struct {
	// Problems makes the body of a response that next did not write problem details
	// (RFC 9457, application/problem+json). By default it is a line of text. The types are
	// quota-exceeded with 429 and temporary-reduced-capacity with 503, of the draft of [Fields],
	// with the names of the limits that denied in violated-policies. A 500 has no type.
	Problems bool
}

// denied returns the names of the limits that denied the call, for its problem details. If Redis is the reason, they are
// those that could not be checked.
func (c Config) denied(requests []limit.Request, result limit.Result) (names []string) {
	if !c.Problems {
		return nil
	}
	for rule, d := range shown(requests, result) {
		denied := d.RetryAfter > 0
		if result.Err != nil {
			denied = d.Err != nil && !d.Allowed
		}
		if denied {
			names = append(names, rule.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const problemTypes = "https://iana.org/assignments/http-problem-types#"

type problem struct {
	Type     string   `json:"type,omitempty"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`
	Violated []string `json:"violated-policies,omitempty"`
}

// deny writes the response to a request that is not passed on, because of the decision. It says why, or that
// what decides cannot be checked. The limits are those that denied it.
func (c Config) deny(w http.ResponseWriter, d limit.Decision, why, what string, limits ...string) {
	var p problem
	switch {
	case d.Outcome() == "mistaken":
		p = problem{Title: "Internal Server Error", Status: http.StatusInternalServerError, Detail: what + " cannot be checked"}
	case d.Err != nil:
		p = problem{problemTypes + "temporary-reduced-capacity", "Temporary Reduced Capacity", http.StatusServiceUnavailable, what + " cannot be checked now", limits}
	default:
		p = problem{problemTypes + "quota-exceeded", "Quota Exceeded", http.StatusTooManyRequests, why, limits}
		if d.RetryAfter != limit.Never {
			w.Header().Set("Retry-After", seconds(d.RetryAfter))
		}
	}
	if !c.Problems {
		http.Error(w, p.Detail, p.Status)
		return
	}
	body, _ := json.Marshal(p) // a struct of strings and a number always has a form
	w.Header().Del("Content-Length")
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // an error says that the client has gone
}
