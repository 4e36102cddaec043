package cluster_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// errorReplies adds up those of all nodes.
func errorReplies(client *cluster.Client) map[string]uint64 {
	all := make(map[string]uint64)
	for _, n := range client.Stats().Nodes {
		for code, count := range n.Pool.ErrorReplies {
			all[code] += count
		}
	}
	return all
}

// TestErrorRepliesAreCounted: whichever way a command takes, its error reply counts
// once for each time that the server sent it, under the node that did.
func TestErrorRepliesAreCounted(t *testing.T) {
	t.Parallel()
	for name, config := range poolKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.StartEmulated(t, 3)
			client := open(t, cluster.Config{Pool: config, RefreshEvery: -1, RetryWindow: -1}, redis.Addrs())
			ctx := within(t, 20*time.Second)
			key := "k"
			owner := redis.Owner(cluster.Slot(key))
			p := pipeline.New(client)
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "SET", key, "1")))
			require.Empty(t, errorReplies(client))

			redis.Inject(owner, func(cmd string, _ []string) string {
				switch cmd {
				case "SET":
					return "OOM command not allowed when used memory > 'maxmemory'."
				case "INCRBY":
					return "CLUSTERDOWN The cluster is down"
				case "GET":
					return "canary made up by a script"
				}
				return ""
			})
			require.Error(t, client.Do(ctx, radix.Cmd(nil, "SET", key, "1")))
			require.Error(t, client.Do(ctx, radix.WithConn(key, func(ctx context.Context, c radix.Conn) error {
				return c.Do(ctx, radix.Cmd(nil, "SET", key, "1"))
			})))
			require.Error(t, client.Do(ctx, radix.Cmd(nil, "GET", key)))
			replies := []pipeline.Reply{p.IncrBy(key, 1), p.IncrBy(key, 1)}
			_ = p.Do(ctx)
			for _, r := range replies {
				require.Error(t, r.Err())
			}
			sets, err := client.Clients()
			require.NoError(t, err)
			require.Error(t, sets[redis.Addrs()[owner]].Primary.Do(ctx, radix.Cmd(nil, "SET", key, "1")))
			require.Equal(t, map[string]uint64{"OOM": 3, "CLUSTERDOWN": 2, "other": 1}, errorReplies(client))
			for _, n := range client.Stats().Nodes {
				require.Equal(t, n.Pool.Addr == redis.Addrs()[owner], len(n.Pool.ErrorReplies) > 0, n.Pool.Addr)
			}
		})
	}
	require.Contains(t, pool.ErrorCodes(), "CLUSTERDOWN")
}

// TestLogOfAClient: what changes is in the log, from the owners of slots to trouble that
// lasts, and nothing of what keys and values are.
func TestLogOfAClient(t *testing.T) {
	t.Parallel()
	redis := redistest.StartEmulated(t, 3)
	log := new(logged)
	client := open(t, cluster.Config{
		RetryWindow: -1, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}, redis.Addrs())
	ctx := within(t, 20*time.Second)
	const key = "canary"
	slot := cluster.Slot(key)
	set := func() error { return client.Do(ctx, radix.Cmd(nil, "SET", key, canary)) }
	require.NoError(t, set())

	owner := redis.Owner(slot)
	next := (owner + 1) % 3
	redis.Move(slot, next)
	require.NoError(t, client.Sync(ctx))
	until(t, ctx, "the log says that a slot has moved", func() bool {
		return log.count(`msg="slots moved" slots=1 shifts="1 from `+redis.Addrs()[owner]+" to "+redis.Addrs()[next]) == 1
	})
	require.NoError(t, client.Sync(ctx))

	redis.Inject(next, func(cmd string, _ []string) string {
		if cmd == "SET" {
			return "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
		}
		return ""
	})
	began := time.Now()
	until(t, ctx, "the log says that there is trouble", func() bool {
		require.Error(t, set())
		return log.count("msg=outage where=\"node "+redis.Addrs()[next]+"\"") > 0
	})
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	redis.Inject(next, nil)
	require.NoError(t, set())
	until(t, ctx, "the log says that it is over", func() bool { return log.count(`msg="outage over"`) == 1 })
	require.Equal(t, 1, log.count("msg=outage"))
	require.Equal(t, 1, log.count("slots moved"))
	require.Zero(t, log.count(canary))
}
