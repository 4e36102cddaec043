package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestNodeWithANewAddress kills a node and starts it again on another port.
func TestNodeWithANewAddress(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{})
	ctx := within(t, 30*time.Second)
	client := open(t, cluster.Config{RefreshEvery: -1}, real.Addrs())
	key := redistest.KeyInSlot(0, "moving")
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", key, "v")))
	n := real.Nodes()[0]
	before := n.Addr()
	require.NoError(t, n.Kill())
	require.NoError(t, n.RestartElsewhere(ctx))
	after := n.Addr()
	require.NotEqual(t, before, after)
	until(t, ctx, "the node is found at its new address", func() bool {
		return client.Do(ctx, radix.Cmd(nil, "SET", key, "v")) == nil
	})
	until(t, ctx, "the old address is given up", func() bool {
		addrs := ""
		for _, n := range client.Stats().Nodes {
			addrs += n.Pool.Addr + " "
		}
		return strings.Contains(addrs, after) && !strings.Contains(addrs, before)
	})
}

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
		require.NoError(t, n.Configure(ctx, "cluster-preferred-endpoint-type", "unknown-endpoint"))
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
	from, err := real.Owner(ctx, slot)
	require.NoError(t, err)
	to := real.Nodes()[0]
	if to == from {
		to = real.Nodes()[1]
	}
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

// TestNamesBehindNAT: the servers tell names that only AddrMap can resolve.
func TestNamesBehindNAT(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{})
	if real.Major() < 7 {
		t.Skip("servers before Redis 7 have no names")
	}
	ctx := within(t, 30*time.Second)
	for i, n := range real.Nodes() {
		require.NoError(t, n.Configure(ctx, "cluster-announce-hostname", fmt.Sprintf("node-%d.internal", i),
			"cluster-preferred-endpoint-type", "hostname"))
	}
	for _, n := range real.Nodes() {
		until(t, ctx, "all nodes know all names", func() bool {
			var ranges [][]any
			require.NoError(t, n.Do(ctx, &ranges, "CLUSTER", "SLOTS"))
			return strings.Count(fmt.Sprintf("%s", ranges), "[node-") == 3 // each at the head of its row
		})
	}
	var translated atomic.Int64
	config := cluster.Config{RefreshEvery: -1}
	config.AddrMap = func(addr string) string {
		host, port, err := net.SplitHostPort(addr)
		if err == nil && strings.HasSuffix(host, ".internal") {
			translated.Add(1)
			return net.JoinHostPort("127.0.0.1", port)
		}
		return addr
	}
	config.Dialer.NetDial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(addr); err != nil || host != "127.0.0.1" {
			t.Errorf("dialled %q", addr)
			return nil, errors.New("not a loopback address")
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	client := open(t, config, real.Addrs()[:1])
	require.NotZero(t, translated.Load())
	useAllSlots(t, ctx, client, real)
}
