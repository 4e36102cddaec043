package limithttp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/places"
	"github.com/redislanes/redislanes/redistest/sim"
)

// world runs f with a Redis Cluster in memory, a client and a limiter. It begins 20.5 s after an hour.
func world(t *testing.T, f func(t *testing.T, redis *sim.Cluster, client *cluster.Client, l *limit.Limiter)) {
	synctest.Test(t, func(t *testing.T) {
		redis := sim.Start(t, sim.Config{})
		client, err := cluster.Config{Dialer: lanes.Dialer{NetDial: redis.Dial}}.New(t.Context(), redis.Addrs())
		require.NoError(t, err)
		l, err := limit.New(client)
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, l.Close())
			require.NoError(t, client.Close())
		})
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + 20500*time.Millisecond)))
		f(t, redis, client, l)
	})
}

func must(t *testing.T, l *limit.Limiter, r limit.Rule) *limit.Limit {
	t.Helper()
	made, err := r.New(l)
	require.NoError(t, err)
	return made
}

func get(ctx context.Context, h http.Handler, path string) *http.Response {
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
	return r.Result()
}

func TestHandler(t *testing.T) {
	world(t, func(t *testing.T, redis *sim.Cluster, _ *cluster.Client, l *limit.Limiter) {
		user := must(t, l, limit.Rule{Name: "user", Quota: 2, Window: time.Minute})
		path := must(t, l, limit.Rule{Name: "path", Quota: 100, Window: time.Hour, FailClosed: true})
		shadow := must(t, l, limit.Rule{Name: "shadow", Quota: 0, Window: time.Hour, Shadow: true})
		h := Handler(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
			func(r *http.Request) (requests []limit.Request) {
				switch r.URL.Path {
				case "/free":
					return nil
				case "/large":
					return []limit.Request{{Limit: user, Key: "u", Cost: 3}}
				case "/mistaken":
					return []limit.Request{{Limit: user, Key: "u", Cost: -1}}
				}
				return []limit.Request{{Limit: user, Key: "u"}, {Limit: path, Key: r.URL.Path}, {Limit: shadow, Key: "s"}}
			})
		const policy = `"user";q=2;w=60, "path";q=100;w=3600`
		for _, want := range []struct {
			path               string
			status             int
			policy, now, again string
		}{
			{"/a", 204, policy, `"user";r=1;t=40, "path";r=99;t=3580`, ""},
			{"/a", 204, policy, `"user";r=0;t=40, "path";r=98;t=3580`, ""},
			{"/a", 429, policy, `"user";r=0;t=40`, "40"},
			{"/large", 429, `"user";q=2;w=60`, "", ""},
			{"/mistaken", 500, "", "", ""},
			{"/free", 204, "", "", ""},
		} {
			r := get(t.Context(), h, want.path)
			require.Equal(t, want.status, r.StatusCode, want.path)
			require.Equal(t, want.policy, r.Header.Get("RateLimit-Policy"))
			require.Equal(t, want.now, r.Header.Get("RateLimit"))
			require.Equal(t, want.again, r.Header.Get("Retry-After"))
		}
		time.Sleep(time.Minute)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, 204, get(gone, h, "/gone").StatusCode)
		require.EqualValues(t, 99, l.Allow(t.Context(), limit.Request{Limit: path, Key: "/gone", Look: true}).Remaining, "a client that has gone counts")
		time.Sleep(time.Second) // the near cache has forgotten the user
		for _, n := range redis.Nodes() {
			n.Isolate()
		}
		away := get(t.Context(), h, "/b")
		require.Equal(t, http.StatusServiceUnavailable, away.StatusCode)
		require.Equal(t, policy, away.Header.Get("RateLimit-Policy"))
		require.Empty(t, away.Header.Get("RateLimit"))
	})
}

// TestNestedHandlers add their fields to each other's.
func TestNestedHandlers(t *testing.T) {
	world(t, func(t *testing.T, _ *sim.Cluster, _ *cluster.Client, l *limit.Limiter) {
		of := func(name string, n int64) func(*http.Request) []limit.Request {
			made := must(t, l, limit.Rule{Name: name, Quota: n, Window: time.Hour})
			return func(*http.Request) []limit.Request { return []limit.Request{{Limit: made, Key: "k"}} }
		}
		h := Handler(l, Handler(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			require.IsType(t, new(httptest.ResponseRecorder), w, "it can flush, hijack and the rest")
		}), of("route", 100)), of("all", 3))
		r := get(t.Context(), h, "/")
		require.Equal(t, []string{`"all";q=3;w=3600`, `"route";q=100;w=3600`}, r.Header.Values("RateLimit-Policy"))
		require.Equal(t, []string{`"all";r=2;t=3580`, `"route";r=99;t=3580`}, r.Header.Values("RateLimit"))
	})
}

func TestPlaces(t *testing.T) {
	world(t, func(t *testing.T, redis *sim.Cluster, client *cluster.Client, l *limit.Limiter) {
		perUser := must(t, l, limit.Rule{Name: "user", Quota: 100, Window: time.Hour})
		exports, err := places.Config{Name: "exports", Max: 2, FailClosed: true}.New(client)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, exports.Close()) })
		inside, leave := make(chan struct{}), make(chan struct{})
		key := func(r *http.Request) (string, bool) { return "u", r.URL.Path != "/free" }
		h := Places(exports, Handler(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/slow":
				inside <- struct{}{}
				<-leave
			case "/panic":
				panic(http.ErrAbortHandler)
			}
		}), func(*http.Request) []limit.Request { return []limit.Request{{Limit: perUser, Key: "u"}} }), key)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		ended := make(chan struct{})
		for range 2 {
			go func() {
				get(gone, h, "/slow") // it takes a place all the same
				ended <- struct{}{}
			}()
			<-inside
		}
		r := get(t.Context(), h, "/")
		require.Equal(t, http.StatusTooManyRequests, r.StatusCode)
		require.Equal(t, []string{`"exports";q=2;qu="concurrent-requests"`}, r.Header.Values("RateLimit-Policy"))
		require.Equal(t, []string{`"exports";r=0`}, r.Header.Values("RateLimit"))
		require.Equal(t, "1", r.Header.Get("Retry-After"))
		require.Equal(t, http.StatusOK, get(t.Context(), h, "/free").StatusCode)
		close(leave)
		<-ended
		<-ended
		require.Panics(t, func() { get(t.Context(), h, "/panic") })
		for range 3 { // one after the other takes one place
			r = get(t.Context(), h, "/")
			require.Equal(t, http.StatusOK, r.StatusCode)
			require.Equal(t, `"exports";r=1`, r.Header.Get("RateLimit"))
			require.Len(t, r.Header.Values("RateLimit-Policy"), 2)
		}
		require.EqualValues(t, 100-7, l.Allow(t.Context(), limit.Request{Limit: perUser, Key: "u", Look: true}).Remaining, "what has no place is not counted")
		for _, n := range redis.Nodes() {
			n.Isolate()
		}
		r = get(t.Context(), h, "/")
		require.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
		require.Equal(t, `"exports";q=2;qu="concurrent-requests"`, r.Header.Get("RateLimit-Policy"))
		require.Empty(t, r.Header.Get("RateLimit"))
		require.Equal(t, http.StatusServiceUnavailable, get(t.Context(), Places(nil, http.NotFoundHandler(), key), "/").StatusCode)
	})
}
