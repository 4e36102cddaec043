package service_test

import (
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/limit"
)

// TestQuotaMode: rules with quota_mode deny a request only if all of them do, and say each by itself
// what they would do. Others deny as always.
func TestQuotaMode(t *testing.T) {
	w := start(t, 3, options{})
	type code = pb.RateLimitResponse_Code
	for i, want := range [][]code{ // of all, first, second
		{ok, ok, ok},
		{ok, over, ok},
		{over, over, over},
		{over, over, over},
	} {
		res := w.ask(request("first=a", "second=a", "tenant=a"))
		got := []code{res.GetOverallCode(), res.GetStatuses()[0].GetCode(), res.GetStatuses()[1].GetCode()}
		require.Equal(t, want, got, "request %d", i+1)
		require.NotEqual(t, over, res.GetStatuses()[2].GetCode())
		require.NotNil(t, res.GetStatuses()[0].GetCurrentLimit())
		require.Equal(t, want[0] == over, len(res.GetResponseHeadersToAdd()) == 1, "retry-after")
	}
	require.Equal(t, over, w.ask(request("first=b", "banned=b")).GetOverallCode())
}

// TestQuotaDenialCountsForNone: a request that its quotas deny uses up no other limit, and one that another
// limit denies uses up no quota.
func TestQuotaDenialCountsForNone(t *testing.T) {
	w := start(t, 3, options{})
	remaining := func(key string) uint32 {
		return w.ask(hits(key, 0)).GetStatuses()[0].GetLimitRemaining()
	}
	for i := range 5 {
		res := w.ask(request("tenant=a", "bucket=a", "first=a", "sliding=a"))
		require.Equal(t, i > 0, res.GetOverallCode() == over)
		if i == 1 { // not asked about
			require.Equal(t, pb.RateLimitResponse_UNKNOWN, res.GetStatuses()[0].GetCode())
		}
	}
	require.EqualValues(t, 99, remaining("tenant=a"))
	require.EqualValues(t, 9, remaining("bucket=a"))
	require.EqualValues(t, 6, remaining("sliding=a"))

	w.ask(giveBack("first=a", 1))
	for i := range 2 {
		res := w.ask(request("first=a", "banned=a"))
		require.Equal(t, over, res.GetOverallCode())
		require.EqualValues(t, 1, remaining("first=a"))
		if i == 0 { // counted and given back
			require.EqualValues(t, 1, res.GetStatuses()[0].GetLimitRemaining())
		}
	}
	res := w.ask(request("first=a", "tenant=a"))
	require.Equal(t, ok, res.GetOverallCode())
	require.Zero(t, res.GetStatuses()[0].GetLimitRemaining())
	require.EqualValues(t, 98, res.GetStatuses()[1].GetLimitRemaining())

	for range 3 { // hits with charge: true stay counted
		w.ask(request("first=b", "tokens=b"))
	}
	require.EqualValues(t, 2, remaining("tokens=b"))
}

// TestQuotasInTime: quotas and other limits, on other servers, have one budget together.
func TestQuotasInTime(t *testing.T) {
	const budget = 500 * time.Millisecond
	w := start(t, 3, options{limit: limit.Config{Budget: budget, NearCache: -1}})
	req := request("first=a", "tenant=a", "tenant=b", "tenant=c", "tenant=d", "tenant=e")
	stalled := make(chan struct{})
	for i := range w.redis.Nodes() {
		w.redis.Inject(i, func(string, []string) string {
			<-stalled
			return ""
		})
	}
	defer close(stalled)
	began := time.Now()
	require.Equal(t, ok, w.ask(req).GetOverallCode(), "all fail open")
	require.Less(t, time.Since(began), 2*budget)
}
