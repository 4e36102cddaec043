package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

// TestSilentNodesAreAskedLast: the map of the slots is fetched elsewhere first.
func TestSilentNodesAreAskedLast(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	ctx := servers.Within(t, 20*time.Second)
	client := open(t, Config{RefreshEvery: -1}, e.Addrs())
	for _, key := range redistest.KeysInSlots(12, "asked") {
		require.NoError(t, client.do(ctx, "GET", key))
	}
	e.Nodes()[1].Close()
	require.Eventually(t, client.known(e.Addrs()[1]).silent, 10*time.Second, time.Millisecond)
	for range 20 {
		addrs := client.refresher.candidates(client.topology.Load())
		require.ElementsMatch(t, e.Addrs(), addrs)
		require.Equal(t, e.Addrs()[1], addrs[2])
	}
}
