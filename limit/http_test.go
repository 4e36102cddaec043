package limit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/sim/simnet"
)

func TestHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.limiter(t, Config{})
		user := l.must(t, Rule{Name: "user", Limit: 2, Window: time.Minute})
		path := l.must(t, Rule{Name: "path", Limit: 100, Window: time.Hour, FailClosed: true})
		shadow := l.must(t, Rule{Name: "shadow", Limit: 0, Window: time.Hour, Shadow: true})
		served := 0
		h := l.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			served++
			w.WriteHeader(http.StatusNoContent)
		}), func(r *http.Request) (requests []Request) {
			switch r.URL.Path {
			case "/free":
				return nil
			case "/large":
				return []Request{{Limit: user, Key: "u", Cost: 3}}
			}
			return []Request{{Limit: user, Key: "u"}, {Limit: path, Key: r.URL.Path}, {Limit: shadow, Key: "s"}}
		})
		get := func(path string) *http.Response {
			r := httptest.NewRecorder()
			h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
			return r.Result()
		}
		atWindow(time.Hour)
		time.Sleep(20500 * time.Millisecond)
		const policy = `"user";q=2;w=60, "path";q=100;w=3600`
		for _, want := range []struct {
			path               string
			status             int
			policy, now, again string
		}{
			{"/a", 204, policy, `"user";r=1;t=40, "path";r=99;t=3580`, ""},
			{"/a", 204, policy, `"user";r=0;t=40, "path";r=98;t=3580`, ""},
			{"/a", 429, policy, `"user";r=0;t=40, "path";r=98;t=3580`, "40"},
			{"/large", 429, `"user";q=2;w=60`, "", ""},
			{"/free", 204, "", "", ""},
		} {
			r := get(want.path)
			require.Equal(t, want.status, r.StatusCode, want.path)
			require.Equal(t, want.policy, r.Header.Get("RateLimit-Policy"))
			require.Equal(t, want.now, r.Header.Get("RateLimit"))
			require.Equal(t, want.again, r.Header.Get("Retry-After"))
		}
		require.Equal(t, 3, served)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(gone, http.MethodGet, "/gone", nil)
		before := l.count(t, path, "/gone")
		h.ServeHTTP(httptest.NewRecorder(), r)
		require.Zero(t, before)
		require.Zero(t, l.count(t, path, "/gone"), "the user is over the limit, whether there is a client or not")
		time.Sleep(time.Minute)
		h.ServeHTTP(httptest.NewRecorder(), r)
		require.EqualValues(t, 1, l.count(t, path, "/gone"), "it counts")
		require.Equal(t, 4, served)
		time.Sleep(time.Second) // the near cache has forgotten the user
		w.net.Impose("", "", simnet.Conditions{Partition: simnet.Both})
		away := get("/b")
		require.Equal(t, http.StatusServiceUnavailable, away.StatusCode)
		require.Equal(t, policy, away.Header.Get("RateLimit-Policy"))
		require.Empty(t, away.Header.Get("RateLimit"))
	})
}

// TestPolicy: the quota is the rate, also of a bucket with a small burst and of windows that
// are no whole number of seconds.
func TestPolicy(t *testing.T) {
	for want, rule := range map[string]Rule{
		`"p";q=100;w=1`:                  {Limit: 100, Burst: 10, Window: time.Second, Algorithm: TokenBucket},
		`"p";q=3000;w=1`:                 {Limit: 3000, Burst: 1, Window: time.Second, Algorithm: TokenBucket},
		`"p";q=600;w=60`:                 {Limit: 600, Burst: 5, Window: time.Minute, Algorithm: TokenBucket},
		`"p";q=70;w=1`:                   {Limit: 7, Window: 100 * time.Millisecond},
		`"p";q=13;w=2`:                   {Limit: 10, Window: 1500 * time.Millisecond},
		`"p";q=5;w=3600`:                 {Limit: 5, Window: time.Hour, Algorithm: SlidingWindow},
		`"p";q=0;w=1`:                    {Limit: 0, Window: time.Second},
		`"p";q=1000000000000;w=31622400`: {Limit: mostLimit, Window: mostWindow},
	} {
		rule.Name = "p"
		require.NoError(t, rule.validate())
		policy, _ := Result{Each: make([]Decision, 1)}.Fields([]Request{{Limit: &Limit{rule: rule, head: "h"}}})
		require.Equal(t, want, policy)
	}
}

// TestFieldsOfLooks: a full bucket has all of its hits, now.
func TestFieldsOfLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		look := []Request{{Limit: l.must(t, Rule{Name: "full", Limit: 5, Window: time.Hour, Algorithm: TokenBucket}), Key: "k", Look: true}}
		_, state := l.Allow(t.Context(), look...).Fields(look)
		require.Equal(t, `"full";r=5;t=0`, state)
	})
}

// TestFieldsOfSeveralKeys: a request that one key denies is not told what another one has.
func TestFieldsOfSeveralKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		user := l.must(t, Rule{Name: "user", Limit: 2, Window: time.Hour})
		tried := l.must(t, Rule{Name: "tried", Limit: 0, Window: time.Hour, Shadow: true})
		both := []Request{{Limit: tried, Key: "a"}, {Limit: user, Key: "a"}, {Limit: user, Key: "b"}}
		atWindow(time.Hour)
		for range 2 {
			require.True(t, l.Allow(t.Context(), both[2]).Allowed)
		}
		policy, state := l.Allow(t.Context(), both...).Fields(both)
		require.Equal(t, `"user";q=2;w=3600`, policy)
		require.Equal(t, `"user";r=0;t=3600`, state)

		short := l.must(t, Rule{Name: "user", Limit: 10, Window: time.Minute})
		both = []Request{{Limit: short, Key: "c"}, {Limit: user, Key: "c"}}
		policy, state = l.Allow(t.Context(), both...).Fields(both)
		require.Equal(t, `"user";q=10;w=60, "user";q=2;w=3600`, policy)
		require.Equal(t, `"user";r=9;t=60, "user";r=1;t=3600`, state)
	})
}

// TestNestedHandlers add their fields to each other's.
func TestNestedHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newWorld(t).limiter(t, Config{})
		of := func(name string, n int64) func(*http.Request) []Request {
			limit := l.must(t, Rule{Name: name, Limit: n, Window: time.Hour})
			return func(*http.Request) []Request { return []Request{{Limit: limit, Key: "k"}} }
		}
		h := l.Handler(l.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), of("route", 100)), of("all", 3))
		atWindow(time.Hour)
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/", nil))
		require.Equal(t, []string{`"all";q=3;w=3600`, `"route";q=100;w=3600`}, r.Header().Values("RateLimit-Policy"))
		require.Equal(t, []string{`"all";r=2;t=3600`, `"route";r=99;t=3600`}, r.Header().Values("RateLimit"))
	})
}
