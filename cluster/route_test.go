package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestCrossSlotIsRefusedUnsent: no node sees anything of a command with keys in
// two slots.
func TestCrossSlotIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{}, e.Addrs())
	ctx := within(t, 10*time.Second)
	var seen atomic.Int32
	for node := range e.Nodes() {
		e.Inject(node, func(string, []string) string {
			seen.Add(1)
			return ""
		})
	}
	for _, line := range [][]string{
		{"MGET", "a", "b"}, {"DEL", "a", "b"}, {"mset", "a", "1", "b", "2"}, {"EVAL", "return 1", "2", "a", "b"},
		{"BLPOP", "a", "b", "0"}, {"SORT", "a", "STORE", "b"}, {"ZUNIONSTORE", "a", "1", "b"},
	} {
		name, args := line[0], line[1:]
		require.ErrorIs(t, client.Do(ctx, radix.Cmd(nil, name, args...)), redislanes.ErrCrossSlot, line)
		require.ErrorIs(t, client.DoSecondary(ctx, radix.Cmd(nil, name, args...)), redislanes.ErrCrossSlot, line)
		if name == "BLPOP" {
			continue
		}
		require.ErrorIs(t, pipeline.New(client).Append(radix.Cmd(nil, name, args...)).Err(), redislanes.ErrCrossSlot, line)
		require.ErrorIs(t, pipeline.New(client).Cmd(name, anys(args)...).Err(), redislanes.ErrCrossSlot, line)
	}
	p := radixPipeline(radix.Cmd(nil, "GET", "a"), radix.Cmd(nil, "GET", "b"))
	require.ErrorIs(t, client.Do(ctx, p), redislanes.ErrCrossSlot)
	require.Zero(t, seen.Load())
}

// TestKeylessOfManyClients: a client sends commands without a key to one node. Of ten clients, no node gets
// the PUBLISH of more than half.
func TestKeylessOfManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(addr string, _ []string) string { return bulk(addr) }, nodeA, nodeB, nodeC)
		by := make(map[string]int)
		for range 10 {
			client := w.open(t, cluster.Config{RefreshEvery: -1})
			var node, again string
			require.NoError(t, client.Do(t.Context(), radix.Cmd(&node, "PUBLISH", "news", "x")))
			require.NoError(t, client.Do(t.Context(), radix.Cmd(&again, "PUBLISH", "news", "y")))
			require.Equal(t, node, again)
			by[node]++
		}
		for node, n := range by {
			require.LessOrEqual(t, n, 5, node)
		}
	})
}

// TestForEach: every primary, and each error with its node.
func TestForEach(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	ctx := within(t, 20*time.Second)
	client := open(t, cluster.Config{}, real.Addrs())
	for i := range 100 {
		require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", fmt.Sprint("each", i), "1")))
	}
	var keys atomic.Int64
	size := func(ctx context.Context, node radix.Client) error {
		var n int64
		err := node.Do(ctx, radix.Cmd(&n, "DBSIZE"))
		keys.Add(n)
		return err
	}
	require.NoError(t, client.ForEachPrimary(ctx, size))
	require.EqualValues(t, 100, keys.Load())

	bad := errors.New("bad")
	err := client.ForEachPrimary(ctx, func(_ context.Context, node radix.Client) error {
		switch node.Addr().String() {
		case real.Addrs()[0]:
			return bad
		case real.Addrs()[1]:
			panic("canary")
		}
		return nil
	})
	require.ErrorIs(t, err, bad)
	require.ErrorContains(t, err, real.Addrs()[0]+": bad")
	require.ErrorContains(t, err, real.Addrs()[1]+": ")
	require.NotContains(t, err.Error(), real.Addrs()[2])
	require.ErrorIs(t, client.ForEachPrimary(ctx, nil), redislanes.ErrNotSent)
}
