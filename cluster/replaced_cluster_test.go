package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/lanes"
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

// TestSilentClusterIsReplaced: the nodes of a cluster that was replaced may swallow
// packets, as deleted pods do, and so may a seed. A seed that leads to the new cluster, such as a DNS
// name, is believed when the nodes have been silent for ten seconds, however many they are.
func TestSilentClusterIsReplaced(t *testing.T) {
	for _, size := range []int{2, 20} {
		synctest.Test(t, func(t *testing.T) { silentClusterIsReplaced(t, size) })
	}
}

func silentClusterIsReplaced(t *testing.T, size int) {
	var old []string
	for i := range size {
		old = append(old, fmt.Sprintf("127.0.0.2:%d", 7001+i))
	}
	w := newWorld(func(string, []string) string { return one }, old...)
	const silent, name = "silent.example:6379", "redis.example:6379"
	led := old[0]
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == name {
			addr = led
		}
		return w.dial(ctx, network, addr)
	}
	w.silent[silent] = true
	client := open(t, cluster.Config{RefreshEvery: -1, Dialer: lanes.Dialer{NetDial: dial}}, []string{silent, name})
	key := keyOf(0, size)
	require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", key)))
	w.set(func() {
		for _, addr := range old {
			w.silent[addr] = true
		}
		w.slots = mapOf(nodeC)
		led = nodeC
	})
	began := time.Now()
	for client.Do(soon(t, 200*time.Millisecond), radix.Cmd(nil, "INCR", key)) != nil {
		require.Less(t, time.Since(began), 20*time.Second) // ten of silence, and a fetch of the map or two
		time.Sleep(20 * time.Millisecond)
	}
	require.Equal(t, nodeC, client.Primary(0))
	require.Greater(t, time.Since(began), 9*time.Second, "nodes that are slow to answer are no reason to leave the cluster")
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
