package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
)

// TestForEach: every primary, every replica, and each error with its node.
func TestForEach(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
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
	until(t, ctx, "the replicas have all keys", func() bool {
		keys.Store(0)
		return client.ForEachReplica(ctx, size) == nil && keys.Load() == 100
	})

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

// TestPipelineFromReplicas: reads go to replicas, and a write to its primary.
func TestPipelineFromReplicas(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3, Replicas: 1})
	ctx := within(t, 20*time.Second)
	client := open(t, cluster.Config{}, real.Addrs())
	p := pipeline.Config{Replicas: true}.New(client)
	written := p.Cmd("SET", "key", "1")
	require.NoError(t, p.Do(ctx))
	require.Equal(t, client.Primary(cluster.Slot("key")), written.Node())
	until(t, ctx, "the replica has the key", func() bool {
		p.Reset()
		r := p.Cmd("GET", "key")
		require.NoError(t, p.Do(ctx))
		require.NotEqual(t, client.Primary(cluster.Slot("key")), r.Node())
		value, err := r.Text()
		return err == nil && value == "1"
	})
}
