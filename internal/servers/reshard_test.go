package servers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

// TestReshardAgain moves one slot from node to node without a pause, in all ways
// that the servers have: two nodes that take the same config epoch disagree about
// its owner.
func TestReshardAgain(t *testing.T) {
	c := servers.StartCluster(t, servers.Options{Primaries: 3})
	ctx := servers.Within(t, 60*time.Second)
	const slot = 2182
	ways := c.ReshardWays()
	for i := range 100 {
		to := c.Nodes()[(i+1)%3]
		require.NoError(t, ways[i%len(ways)](ctx, []uint16{slot}, to), "move %d", i)
		owner, err := c.Owner(ctx, slot)
		require.NoError(t, err)
		require.Equal(t, to.Addr(), owner.Addr())
	}
}
