package engine

import (
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/nodepool"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/redistest"
)

// TestDefaultSizes: more connections to each node of a cluster than to a server
// that stands alone, unless the size is set.
func TestDefaultSizes(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartEmulated(t, 3).Addrs()
	alone := servers.StartServer(t, servers.Options{}).Addrs()
	for _, c := range []struct {
		pool                 nodepool.Settings
		inCluster, forSingle int
	}{
		{nodepool.Settings{Kind: nodepool.KindAdaptive}, 50, 10},
		{nodepool.Settings{Kind: nodepool.KindAdaptive, Max: 7}, 7, 7},
		{nodepool.Settings{Kind: nodepool.KindAdaptive, Min: 1, Max: 50}, 50, 50},
		{nodepool.Settings{}, 4, 4},
	} {
		require.Equal(t, c.inCluster, poolSize(t, c.pool, nodes), "%+v", c.pool)
		require.Equal(t, c.forSingle, poolSize(t, c.pool, alone), "%+v", c.pool)
	}
}

// poolSize returns the size of the pool that the first command makes.
func poolSize(t *testing.T, p nodepool.Settings, addrs []string) int {
	ctx := servers.Within(t, 10*time.Second)
	client, err := Config{Pool: p}.New(ctx, addrs)
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCRBY", "hits", "1")))
	s := client.Stats()
	require.Len(t, s.Nodes, 1)
	return s.Nodes[0].Pool.Size
}
