package service_test

import (
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/redistest"
)

// TestQuotaMode: rules with quota_mode deny a request only if all of them do, and say each by itself
// what they would do. Others deny as always.
func TestQuotaMode(t *testing.T) {
	t.Parallel()
	w := start(t, redistest.StartEmulated(t, 3).Addrs(), options{})
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
		require.Equal(t, ok, res.GetStatuses()[2].GetCode())
		require.NotNil(t, res.GetStatuses()[0].GetCurrentLimit())
		require.Equal(t, want[0] == over, len(res.GetResponseHeadersToAdd()) == 1, "retry-after")
	}
	require.Equal(t, over, w.ask(request("first=b", "banned=b")).GetOverallCode())
}
