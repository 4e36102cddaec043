package limithttp_test

import (
	"net"
	"net/http"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limithttp"
	"github.com/redislanes/redislanes/limit/places"
)

// Each address has a limit.
func ExampleHandler() {
	serve := func(limiter *limit.Limiter, perAddress *limit.Limit, app http.Handler) error {
		return http.ListenAndServe(":8080", limithttp.Handler(limiter, app, func(r *http.Request) []limit.Request {
			host, _, _ := net.SplitHostPort(r.RemoteAddr)
			return []limit.Request{{Limit: perAddress, Key: host}}
		}))
	}
	_ = serve
}

// A user may have five requests at a time, and 100 in a minute. Requests that are one too many
// at a time are not counted.
func ExamplePlaces() {
	serve := func(limiter *limit.Limiter, atATime *places.Semaphore, perMinute *limit.Limit, app http.Handler) error {
		app = limithttp.Handler(limiter, app, func(r *http.Request) []limit.Request {
			return []limit.Request{{Limit: perMinute, Key: r.Header.Get("User")}}
		})
		app = limithttp.Places(atATime, app, func(r *http.Request) (key string, limited bool) {
			return r.Header.Get("User"), true
		})
		return http.ListenAndServe(":8080", app)
	}
	_ = serve
}
