package load

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"

	"github.com/redislanes/redislanes/bench/internal/usage"
)

func TestServerUse(t *testing.T) {
	before := []usage.Server{{CPU: time.Second, Received: 100, Sent: 10}, {CPU: 2 * time.Second, Received: 200, Sent: 20}}
	after := []usage.Server{{CPU: 2 * time.Second, Received: 150, Sent: 30}, {CPU: 5 * time.Second, Received: 300, Sent: 20}}
	require.Equal(t, ServerUse{true, 4 * time.Second, 0.75, 150, 20}, serverUse(before, after, 4*time.Second))
	require.Zero(t, serverUse(after, before, time.Second), "a server was started anew")
	require.Zero(t, serverUse(nil, after, time.Second))
}

// TestUsage measures real servers over a network: what they, the network and this process used
// is known, and a request takes at least a round trip of the network. It is before a cluster of
// one node, too.
func TestUsage(t *testing.T) {
	servers.RequireServer(t)
	t.Setenv("REDIS_ADDRS", "")
	targets := NewTargets(t.Output())
	t.Cleanup(func() { require.NoError(t, targets.Close()) })
	for primaries, scenario := range map[int]string{1: "fixed_key", 3: "mixed_10keys"} {
		e, err := targets.Open(t.Context(), loadOf(t, fmt.Sprintf(
			"{scenario: %s, primaries: %d, callers: 4, duration: 300ms, round_trip: 4ms, bandwidth: 50MB/s}", scenario, primaries)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = e.Close() })
		r := e.Measure(t.Context())[0]
		require.Empty(t, r.Errors)
		require.Positive(t, r.Requests)
		for _, trips := range []Histogram{r.IdleTrips, r.LoadedTrips, r.Fast()} {
			require.GreaterOrEqual(t, time.Duration(trips.Min()), 4*time.Millisecond)
		}
		require.True(t, r.Servers.Known)
		require.Positive(t, r.Servers.CPU)
		require.Positive(t, r.Servers.Busiest)
		const leastSent, leastReceived = 60, 8 // bytes of INCRBY and EXPIRE, and of their replies
		require.GreaterOrEqual(t, r.PerRequest(float64(r.Servers.Received)), float64(leastSent))
		require.GreaterOrEqual(t, r.PerRequest(float64(r.Servers.Sent)), float64(leastReceived))
		if runtime.GOOS == "linux" {
			require.Positive(t, r.Machine.All)
			require.Positive(t, r.Machine.Busy)
			require.LessOrEqual(t, r.Machine.Busy, r.Machine.All)
			require.Positive(t, r.Machine.Network)
		}
	}
}

// TestUnknownUse: servers that say nothing of themselves are no error, nor is a
// node that does not answer pings.
func TestUnknownUse(t *testing.T) {
	e := redistest.StartEmulated(t, 1)
	endpoint := open(t, e, "{scenario: fixed_key, callers: 1, duration: 20ms}")
	endpoint.probed = "127.0.0.1:1"
	r := endpoint.Measure(t.Context())[0]
	require.Empty(t, r.Errors)
	require.False(t, r.Servers.Known)
	require.Zero(t, r.IdleTrips.TotalCount()+r.LoadedTrips.TotalCount())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Nil(t, endpoint.serverCounts(ctx))
}
