package limithttp

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/places"
	"github.com/redislanes/redislanes/redistest/sim"
)

func TestProblems(t *testing.T) {
	world(t, func(t *testing.T, redis *sim.Cluster, client *cluster.Client, l *limit.Limiter) {
		requests := map[string][]limit.Request{"/mistaken": {{Key: "u"}}}
		for name, rule := range map[string]limit.Rule{
			"many":   {Quota: 9},
			"none":   {Quota: 0},
			"shadow": {Quota: 0, Shadow: true},
			"closed": {Quota: 9, FailClosed: true},
		} {
			rule.Name, rule.Window = name, time.Hour
			r := limit.Request{Limit: must(t, l, rule), Key: "u"}
			requests["/"], requests["/"+name] = append(requests["/"], r), []limit.Request{r, r}
		}
		one, err := places.Config{Name: "one", Max: 1, FailClosed: true}.New(client)
		require.NoError(t, err)
		defer one.Close()
		ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
		rates := Config{Problems: true}.Handler(l, ok, func(r *http.Request) []limit.Request { return requests[r.URL.Path] })
		places := Config{Problems: true}.Places(one, ok, func(*http.Request) (string, bool) { return "k", true })
		check := func(h http.Handler, path string, status int, body string) {
			t.Helper()
			r := get(t.Context(), h, path)
			require.Equal(t, status, r.StatusCode)
			all, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			if status == http.StatusOK {
				require.Equal(t, body, string(all))
				return
			}
			require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
			require.JSONEq(t, body, string(all))
		}
		const (
			exceeded = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,`
			reduced  = `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503,`
		)
		check(rates, "/many", 200, "ok")
		check(rates, "/shadow", 200, "ok")
		check(rates, "/none", 429, exceeded+`"detail":"rate limit exceeded","violated-policies":["none"]}`)
		check(rates, "/", 429, exceeded+`"detail":"rate limit exceeded","violated-policies":["none"]}`)
		check(rates, "/mistaken", 500, `{"title":"Internal Server Error","status":500,"detail":"the rate limit cannot be checked"}`)
		hold, _ := one.Acquire(t.Context(), "k")
		check(places, "/", 429, exceeded+`"detail":"too many requests at a time","violated-policies":["one"]}`)
		hold.Release()
		check(places, "/", 200, "ok")
		for _, n := range redis.Nodes() {
			n.Isolate()
		}
		check(rates, "/closed", 503, reduced+`"detail":"the rate limit cannot be checked now","violated-policies":["closed"]}`)
		check(places, "/", 503, reduced+`"detail":"the concurrency limit cannot be checked now","violated-policies":["one"]}`)
	})
}
