package limit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/redistest"
)

func TestConcurrencyHandler(t *testing.T) {
	t.Parallel()
	l := limiterAt(t, cluster.Config{}, patient, redistest.StartEmulated(t, 3).Addrs())
	perUser := l.must(t, Rule{Name: "user", Limit: 100, Window: mostWindow})
	c := l.mustHold(t, ConcurrencyRule{Name: "exports", Limit: 2, FailClosed: true})
	inside, leave := make(chan struct{}), make(chan struct{})
	h := c.Handler(l.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			inside <- struct{}{}
			<-leave
		case "/panic":
			panic(http.ErrAbortHandler)
		}
	}), func(*http.Request) []Request { return []Request{{Limit: perUser, Key: "u"}} }), func(r *http.Request) (string, bool) {
		return "u", r.URL.Path != "/free"
	})
	ask := func(ctx context.Context, path string) *http.Response {
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
		return r.Result()
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan struct{})
	for range 2 {
		go func() {
			ask(gone, "/slow") // it takes a place all the same
			ended <- struct{}{}
		}()
		<-inside
	}
	r := ask(t.Context(), "/")
	require.Equal(t, http.StatusTooManyRequests, r.StatusCode)
	require.Equal(t, []string{`"exports";q=2;qu="concurrent-requests"`}, r.Header.Values("RateLimit-Policy"))
	require.Equal(t, []string{`"exports";r=0`}, r.Header.Values("RateLimit"))
	require.Equal(t, "1", r.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, ask(t.Context(), "/free").StatusCode)
	close(leave)
	<-ended
	<-ended
	require.Panics(t, func() { ask(t.Context(), "/panic") })
	for range 3 { // one after the other takes one place
		r = ask(t.Context(), "/")
		require.Equal(t, http.StatusOK, r.StatusCode)
		require.Equal(t, `"exports";r=1`, r.Header.Get("RateLimit"))
		require.Len(t, r.Header.Values("RateLimit-Policy"), 2)
	}
	require.Zero(t, c.holders(t, "u"))
	require.EqualValues(t, 100-7, l.Allow(t.Context(), Request{Limit: perUser, Key: "u", Look: true}).Remaining, "what has no place is not counted")
	c = l.mustHold(t, ConcurrencyRule{Name: "none"})
	h = c.Handler(http.NotFoundHandler(), func(*http.Request) (string, bool) { return "u", true })
	r = ask(t.Context(), "/")
	require.Equal(t, http.StatusTooManyRequests, r.StatusCode)
	require.Empty(t, r.Header.Get("Retry-After"))
	h = (*Concurrency)(nil).Handler(http.NotFoundHandler(), func(*http.Request) (string, bool) { return "u", true })
	require.Equal(t, http.StatusInternalServerError, ask(t.Context(), "/").StatusCode)
}

// TestConcurrencyHandlerWithoutRedis: failing closed says nothing about how much a client asks.
func TestConcurrencyHandlerWithoutRedis(t *testing.T) {
	t.Parallel()
	servers := redistest.StartEmulated(t, 3)
	l := limiterAt(t, cluster.Config{}, patient, servers.Addrs())
	for i := range 3 {
		servers.Inject(i, func(string, []string) string { return "LOADING Redis is loading the dataset in memory" })
	}
	l.cfg.Budget = 50 * time.Millisecond
	for want, closed := range map[int]bool{http.StatusServiceUnavailable: true, http.StatusNoContent: false} {
		c := l.mustHold(t, ConcurrencyRule{Name: "c", Limit: 1, FailClosed: closed})
		h := c.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
			func(*http.Request) (string, bool) { return "k", true })
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/", nil))
		require.Equal(t, want, r.Code)
		require.Equal(t, `"c";q=1;qu="concurrent-requests"`, r.Header().Get("RateLimit-Policy"))
		require.Empty(t, r.Header().Get("RateLimit"))
	}
}
