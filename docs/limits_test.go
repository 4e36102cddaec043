package docs_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit"
	"github.com/redislanes/redislanes/limit/limithttp"
	"github.com/redislanes/redislanes/limit/places"
)

var errLimited = errors.New("limited")

func twoLimits(ctx context.Context, limiter *limit.Limiter) (limit.Result, error) {
	perUser, err := limit.Rule{Name: "user", Quota: 100, Window: time.Minute}.New(limiter)
	if err != nil {
		return limit.Result{}, err
	}
	perTenant, err := limit.Rule{Name: "tenant", Quota: 10_000, Window: time.Hour, Algorithm: limit.TokenBucket}.New(limiter)
	if err != nil {
		return limit.Result{}, err
	}

	result := limiter.Allow(ctx,
		limit.Request{Limit: perUser, Key: "42"},
		limit.Request{Limit: perTenant, Key: "acme", Cost: 5})
	if !result.Allowed {
		return result, errLimited // result.RetryAfter says when to try again, unless result.Err is set
	}
	return result, nil
}

func reserve(ctx context.Context, limiter *limit.Limiter, tokens *limit.Limit, user string, estimate int64, work func() int64) error {
	reservation, result := limiter.Reserve(ctx, limit.Request{Limit: tokens, Key: user, Cost: estimate})
	if !result.Allowed {
		return errLimited
	}
	defer reservation.Cancel(context.WithoutCancel(ctx)) // does nothing after Settle
	used := work()
	return reservation.Settle(ctx, used)
}

func hold(ctx context.Context, exports *places.Semaphore, tenant string, work func()) error {
	hold, decision := exports.Acquire(ctx, tenant)
	if !decision.Allowed {
		return errLimited
	}
	defer hold.Release()
	work()
	return nil
}

func problems(limiter *limit.Limiter, app http.Handler, limitsOf func(*http.Request) []limit.Request) http.Handler {
	handler := limithttp.Config{Problems: true}.Handler(limiter, app, limitsOf)
	return handler
}

func TestLimits(t *testing.T) {
	client := connect(t)
	limiter, err := limit.Config{Budget: 10 * time.Second}.New(client)
	require.NoError(t, err)
	defer limiter.Close()
	result, err := twoLimits(t.Context(), limiter)
	require.NoError(t, err)
	require.Equal(t, []int64{99, 9995}, []int64{result.Each()[0].Remaining, result.Each()[1].Remaining})

	tokens, err := limit.Rule{Name: "tokens", Quota: 1000, Window: time.Hour, Algorithm: limit.TokenBucket}.New(limiter)
	require.NoError(t, err)
	require.NoError(t, reserve(t.Context(), limiter, tokens, "ann", 600, func() int64 { return 250 }))
	require.Equal(t, int64(750), limiter.Allow(t.Context(), limit.Request{Limit: tokens, Key: "ann", Look: true}).Remaining)
	require.ErrorIs(t, reserve(t.Context(), limiter, tokens, "ann", 1000, nil), errLimited)

	exports, err := places.Config{Name: "exports", Max: 2, Budget: time.Second}.New(client)
	require.NoError(t, err)
	second := func() { require.ErrorIs(t, hold(t.Context(), exports, "acme", nil), errLimited) }
	first := func() { require.NoError(t, hold(t.Context(), exports, "acme", second)) }
	require.NoError(t, hold(t.Context(), exports, "acme", first))
	require.NoError(t, exports.Close())

	none, err := limit.Rule{Name: "none", Window: time.Minute}.New(limiter)
	require.NoError(t, err)
	response := httptest.NewRecorder()
	problems(limiter, http.NotFoundHandler(), func(*http.Request) []limit.Request { return []limit.Request{{Limit: none}} }).
		ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, "application/problem+json", response.Header().Get("Content-Type"))
	require.Equal(t, `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded",`+
		`"status":429,"detail":"rate limit exceeded","violated-policies":["none"]}`+"\n", response.Body.String())
}
