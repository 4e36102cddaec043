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
	each := result.Each()
	for i := range min(len(requests), len(each)) {
		rule, d := requests[i].Settings(), &each[i]
		asked := d.Err != nil || d.RetryAfter > 0
		if asked && !d.Allowed && !rule.Shadow && (d.Err == nil) == (result.Err == nil) {
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

// fail writes the response to a request that is not passed on. The limits are those that denied it.
func (c Config) fail(w http.ResponseWriter, status int, why string, limits ...string) {
	if !c.Problems {
		http.Error(w, why, status)
		return
	}
	p := problem{Title: http.StatusText(status), Status: status, Detail: why, Violated: limits}
	switch status {
	case http.StatusTooManyRequests:
		p.Type, p.Title = problemTypes+"quota-exceeded", "Quota Exceeded"
	case http.StatusServiceUnavailable:
		p.Type, p.Title = problemTypes+"temporary-reduced-capacity", "Temporary Reduced Capacity"
	}
	body, _ := json.Marshal(p) // a struct of strings and a number always has a form
	w.Header().Del("Content-Length")
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // an error says that the client has gone
}
