package cluster_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
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

// oddMap is a reply to CLUSTER SLOTS: the primary at addr owns the first half of the slots, and
// other is its replica. The second half is other's.
func oddMap(addr, other string) string {
	host, port, _ := strings.Cut(addr, ":")
	primary := fmt.Sprintf("*3\r\n%s:%s\r\n%s", bulk(host), port, bulk("one"))
	return "*2\r\n*4\r\n:0\r\n:8191\r\n" + primary + other + "*4\r\n:8192\r\n:16383\r\n" + other + primary
}

// TestOddNodeOfAMap: a node without an address costs its own slots only, at the start and later.
func TestOddNodeOfAMap(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]string{
		"port 0":             "*4\r\n" + bulk("127.0.0.1") + ":0\r\n" + bulk("two") + "*0\r\n",
		"port 0, no address": "*4\r\n$-1\r\n:0\r\n" + bulk("two") + "_\r\n",
		"odd host":           "*3\r\n" + bulk("no host") + ":6379\r\n" + bulk("two"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			var mu sync.Mutex
			slots := slotMap(f.addr())
			f.slots = func() string {
				mu.Lock()
				defer mu.Unlock()
				return slots
			}
			f.start()
			ctx := within(t, 10*time.Second)
			allOdd := newFake(t)
			allOdd.slots = func() string { return "*1\r\n*3\r\n:0\r\n:16383\r\n" + odd }
			allOdd.start()
			_, err := cluster.Config{}.New(ctx, []string{allOdd.addr()})
			require.ErrorContains(t, err, "no primary in its CLUSTER SLOTS reply can be used")
			running := open(t, cluster.Config{RefreshEvery: -1}, []string{f.addr()})
			require.NoError(t, running.Sync(ctx))
			mu.Lock()
			slots = oddMap(f.addr(), odd)
			mu.Unlock()
			require.NoError(t, running.Sync(ctx))
			require.Equal(t, 8192, running.Stats().Slots, "the new map, although it has an odd row")

			client := open(t, cluster.Config{RefreshEvery: -1, RetryWindow: -1}, []string{f.addr()})
			require.NoError(t, client.Do(ctx, radix.Cmd(nil, "INCR", redistest.KeyInSlot(0, "odd"))))
			err = client.Do(ctx, radix.Cmd(nil, "INCR", redistest.KeyInSlot(lastSlot, "odd")))
			require.ErrorIs(t, err, redislanes.ErrNoOwner)
			require.ErrorIs(t, err, redislanes.ErrNotSent)
			require.ErrorContains(t, err, "is left out of the map, ")
			if strings.HasPrefix(name, "port 0") {
				require.ErrorContains(t, err, "set Config.Dialer.TLS")
			}
		})
	}
}

// TestMovedToNoAddress: where MOVED names a node without an address, the map is fetched, and
// the command goes again by it.
func TestMovedToNoAddress(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"?:6379", "127.0.0.1:0"} {
		for _, redirect := range []string{"MOVED", "ASK"} {
			t.Run(redirect+" "+at, func(t *testing.T) {
				t.Parallel()
				s := newUnstarted(t, 2)
				s.fakes[0].answer = func(w io.Writer, cmd []string) bool {
					s.all([]row{{s.fakes[1], id(1), 0, 16383, 7}})
					_, err := fmt.Fprintf(w, "-%s %d %s\r\n", redirect, cluster.Slot(cmd[1]), at)
					return err == nil
				}
				s.start()
				client := s.open(t, cluster.Config{})
				require.Equal(t, 1, owner(t, within(t, 10*time.Second), client, 0))
			})
		}
	}
}
