package scenes

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/sim/simnet"
	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limithttp"
	"github.com/redislanes/redislanes/limit/places"
)

// limits returns a limiter and a limit of it.
func (s *stage) limits(rule limit.Rule) (*limit.Limiter, *limit.Limit) {
	limiter, err := limit.New(s.client)
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, limiter.Close()) })
	l, err := rule.New(limiter)
	require.NoError(s, err)
	return limiter, l
}

// TestClientsThatLeave: a request whose client does not wait for the response is counted.
func TestClientsThatLeave(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		limiter, door := s.limits(limit.Rule{Name: "door", Quota: 3, Window: time.Hour, Algorithm: limit.TokenBucket})
		handler := limithttp.Handler(limiter, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(*http.Request) []limit.Request {
			return []limit.Request{{Limit: door, Key: "k"}}
		})
		code := 0
		for i := range 4 {
			ctx, leave := context.WithCancel(s.Context())
			if i < 3 {
				leave()
			}
			response := httptest.NewRecorder()
			handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
			code = response.Code
			leave()
		}
		require.Equal(s, http.StatusTooManyRequests, code)
	})
}

// TestLeaseAtTheEndOfAWindow: the hits that a lease has left are not handed out in the next window.
func TestLeaseAtTheEndOfAWindow(t *testing.T) {
	const window, most, idle = 10 * time.Second, 10_000, 30 * time.Millisecond // a lease is not returned yet
	scene(t, setup{}, func(s *stage) {
		limiter, l := s.limits(limit.Rule{Name: "hot", Quota: most, Window: window})
		ask := func() bool { return limiter.Allow(s.Context(), limit.Request{Limit: l, Key: "k"}).Allowed }
		time.Sleep(time.Until(time.Now().Truncate(window).Add(window - time.Second)))
		s.repeat(time.Second-idle, 200*time.Microsecond, func() { require.True(s, ask()) })
		time.Sleep(idle)
		allowed := 0
		for range most + most/10 {
			if ask() {
				allowed++
			}
		}
		require.LessOrEqual(s, allowed, most)
	})
}

// TestSettledOnce: a reservation is settled, and the reply is lost.
func TestSettledOnce(t *testing.T) {
	each(t, setup{}, map[string]limit.Algorithm{"window": limit.FixedWindow, "bucket": limit.TokenBucket}, func(s *stage, algorithm limit.Algorithm) {
		s.warm()
		limiter, l := s.limits(limit.Rule{Name: "work", Quota: 1000, Window: time.Hour, Algorithm: algorithm})
		ask := limit.Request{Limit: l, Key: "k", Cost: 400}
		r, reserved := limiter.Reserve(s.Context(), ask)
		require.True(s, reserved.Allowed)
		time.AfterFunc(trip+trip/2, s.net.Impose("", "", simnet.Conditions{CutToClient: 3}))
		require.NoError(s, r.Settle(s.Context(), 700))
		ask.Cost = 300
		require.True(s, limiter.Allow(s.Context(), ask).Allowed)
	})
}

// TestPlaceOfAnother: a holder learns that Redis has lost its place and others have taken it.
func TestPlaceOfAnother(t *testing.T) {
	scene(t, setup{}, func(s *stage) {
		c, err := places.Config{Name: "c", Max: 1, TTL: 4 * time.Second}.New(s.client)
		require.NoError(s, err)
		defer c.Close()
		first, d := c.Acquire(s.Context(), "k")
		require.NoError(s, d.Err)
		s.cmd(time.Second, "DEL", "limit:c:HELD:k").ok(soon)
		second, d := c.Acquire(s.Context(), "k")
		require.True(s, d.Allowed)
		defer second.Release()
		select {
		case <-first.Lost():
		case <-time.After(4 * time.Second):
			s.Error("it still holds its place")
		}
		first.Release()
	})
}
