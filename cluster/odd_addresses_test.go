package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
)

// TestUnknownEndpoints: the servers tell NULL as their host in CLUSTER SLOTS,
// and an empty one in MOVED.
func TestUnknownEndpoints(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{})
	if real.Major() < 7 {
		t.Skip("servers before Redis 7 always tell their hosts")
	}
	ctx := within(t, 30*time.Second)
	for _, n := range real.Nodes() {
		require.NoError(t, n.Do(ctx, nil, "CONFIG", "SET", "cluster-preferred-endpoint-type", "unknown-endpoint"))
	}
	var ranges [][]any
	require.NoError(t, real.Nodes()[0].Do(ctx, &ranges, "CLUSTER", "SLOTS"))
	require.Nil(t, ranges[0][2].([]any)[0], "the server must not tell its host")
	for name, pool := range poolKinds {
		t.Run(name, func(t *testing.T) {
			client := open(t, cluster.Config{RefreshEvery: -1, Pool: pool}, real.Addrs()[1:2])
			useAllSlots(t, ctx, client, real)
		})
	}
}

// useAllSlots counts keys all over the slots, lets one of them move, and counts
// again.
func useAllSlots(t *testing.T, ctx context.Context, client *cluster.Client, real *servers.Cluster) {
	t.Helper()
	keys := make([]string, 300)
	for i := range keys {
		keys[i] = fmt.Sprint(t.Name(), i)
	}
	p := pipeline.New(client)
	count := func(want int64) {
		t.Helper()
		p.Reset()
		replies := make([]pipeline.Reply, len(keys))
		for i, key := range keys {
			replies[i] = p.IncrBy(key, 1)
		}
		require.NoError(t, p.Do(ctx))
		for _, r := range replies {
			n, err := r.Int()
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
	}
	count(1)
	require.Zero(t, client.Stats().Moved)
	require.Len(t, client.Stats().Nodes, 3)

	slot := cluster.Slot(keys[150])
	to := elsewhere(t, ctx, real, slot)
	require.NoError(t, real.MigrateSlotStart(ctx, slot, to))
	require.NoError(t, real.MigrateSlotFinish(ctx, slot, to))
	count(2)
	count(3)
	require.EqualValues(t, 1, client.Stats().Moved)
	for _, n := range client.Stats().Nodes {
		require.Contains(t, real.Addrs(), n.Pool.Addr)
		require.NotZero(t, n.Pool.Open)
	}
}
