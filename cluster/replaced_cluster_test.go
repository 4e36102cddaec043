package cluster_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// TestNodeOfAnotherCluster: the address was given to it.
func TestNodeOfAnotherCluster(t *testing.T) {
	t.Parallel()
	s := newScripted(t, 3)
	client := open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Fixed{Size: 1}}, s.addrs()[1:])
	ctx := within(t, 10*time.Second)
	s.tell(s.fakes[0], []row{{s.fakes[0], "stranger", 0, 16383, 99}})
	require.Zero(t, refreshes(ctx, client))
	require.Equal(t, 1, owner(t, ctx, client, 8000))
	s.fakes[1].close()
	s.fakes[2].close()
	require.Equal(t, 20, refreshes(ctx, client))
	require.Equal(t, s.fakes[1].addr(), client.Primary(8000), "not before ours have been silent for ten seconds")
}

// TestStandaloneServerAtANodesAddress: a node is started again without its
// setting, as a server that knows none of the keys. The other nodes still name
// its address. It must neither be believed nor be sent any command, which would
// find no keys and begin to count at 1.
func TestStandaloneServerAtANodesAddress(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fixed", "laned"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			standaloneAtANodesAddress(t, cluster.Config{Pool: poolKinds[name], RefreshEvery: 50 * time.Millisecond})
		})
	}
}

func standaloneAtANodesAddress(t *testing.T, config cluster.Config) {
	t.Helper()
	real := servers.StartCluster(t, servers.Options{Directives: []string{"cluster-require-full-coverage no"}})
	ctx := within(t, 30*time.Second)
	log := &logged{}
	busy := open(t, config, real.Addrs())
	config.Logger = slog.New(slog.NewTextHandler(log, nil))
	client := open(t, config, real.Addrs()) // it has no pools yet: a node with a pool that is down is asked last
	n := real.Nodes()[0]
	gone, healthy := redistest.KeyInSlot(0, "alone"), redistest.KeyInSlot(16383, "alone")
	for _, key := range []string{gone, healthy} {
		require.NoError(t, busy.Do(ctx, radix.Cmd(nil, "INCRBY", key, "10")))
	}
	require.NoError(t, n.Kill())
	require.NoError(t, n.RestartAlone(ctx))
	until(t, ctx, "it was asked for its map", func() bool {
		_ = client.Sync(ctx)
		return log.count("cluster support is disabled there: it is no node") > 0
	})
	for range 20 {
		_ = client.Sync(ctx)
	}
	var total int
	for _, c := range []*cluster.Client{client, busy} {
		err := c.Do(ctx, radix.Cmd(&total, "INCR", gone))
		require.ErrorIs(t, err, redislanes.ErrWrongServer)
		require.ErrorIs(t, err, redislanes.ErrNotSent)
		require.ErrorContains(t, err, n.Addr())
	}
	require.NoError(t, client.Do(ctx, radix.Cmd(&total, "INCR", healthy)))
	require.Equal(t, 11, total)
	require.Equal(t, cluster.SlotCount, client.Stats().Slots)
	require.Equal(t, 1, log.count("map of the slots is not used"), "it is logged once")
	require.Zero(t, stat(t, ctx, n, "incr"))

	require.NoError(t, n.Kill())
	require.NoError(t, n.Restart(ctx))
	until(t, ctx, "the node serves again", func() bool { return client.Do(ctx, radix.Cmd(nil, "INCR", gone)) == nil })
}
