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
	require.NoError(t, client.do(ctx, "GET", redistest.KeyInSlot(0, "asked"))) // the first node's alone
	e.Nodes()[0].Close()
	require.Eventually(t, client.known(e.Addrs()[0]).silent, 10*time.Second, time.Millisecond)
	for range 20 {
		addrs := client.refresher.candidates(client.topology.Load())
		require.ElementsMatch(t, e.Addrs(), addrs)
		require.Equal(t, e.Addrs()[0], addrs[2])
	}
}
