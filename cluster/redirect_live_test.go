package cluster_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestMigratingSlot sends pipelines through a slot that is being migrated: keys
// that have moved get ASK, new ones too, and after the migration MOVED. No
// command may run twice, and each EXPIRE must find its key.
func TestMigratingSlot(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	ctx := within(t, 30*time.Second)
	const tag = "{migrating}"
	slot := cluster.Slot(tag)
	from, err := real.Owner(ctx, slot)
	require.NoError(t, err)
	to := real.Nodes()[0]
	if to == from {
		to = real.Nodes()[1]
	}
	keys := make([]string, 10)
	for i := range keys {
		keys[i] = fmt.Sprint(tag, i)
	}
	keys = append(keys, redistest.KeysInSlots(10, "other")...)

	client := open(t, cluster.Config{}, real.Addrs())
	p := pipeline.New(client)
	count := func(want int64) {
		t.Helper()
		p.Reset()
		var totals, expiries []pipeline.Reply
		for _, key := range keys {
			totals = append(totals, p.IncrBy(key, 1))
			expiries = append(expiries, p.Expire(key, time.Hour))
		}
		require.NoError(t, p.Do(ctx))
		for i := range keys {
			n, err := totals[i].Int()
			require.NoError(t, err)
			require.Equal(t, want, n, "key %d", i)
			set, err := expiries[i].Int()
			require.NoError(t, err)
			require.EqualValues(t, 1, set, "EXPIRE of key %d did not find it", i)
		}
	}
	count(1)
	require.Zero(t, client.Stats().Ask)

	require.NoError(t, real.MigrateSlotStart(ctx, slot, to))
	require.NoError(t, real.MigrateKeys(ctx, slot, to, keys[0], keys[3], keys[7]))
	count(2)
	require.EqualValues(t, 3*2, client.Stats().Ask, "three keys have moved, two commands each")
	require.Zero(t, client.Stats().Moved)

	require.NoError(t, real.MigrateSlotFinish(ctx, slot, to))
	count(3)
	require.NotZero(t, client.Stats().Moved)
	after := client.Stats().Moved
	count(4)
	require.Equal(t, after, client.Stats().Moved, "the client must have learned the slot's owner")

	for _, key := range keys {
		var n int64
		require.NoError(t, client.Do(ctx, radix.Cmd(&n, "GET", key)))
		require.EqualValues(t, 4, n)
	}
}

// TestTryAgain asks for two keys of a slot that is being migrated, of which one
// has moved: no node can answer until the other one has moved, too.
func TestTryAgain(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	ctx := within(t, 30*time.Second)
	client := open(t, cluster.Config{RetryWindow: time.Hour, RefreshEvery: -1}, real.Addrs())
	slot := cluster.Slot("{again}")
	from, err := real.Owner(ctx, slot)
	require.NoError(t, err)
	to := real.Nodes()[0]
	if to == from {
		to = real.Nodes()[1]
	}
	require.NoError(t, client.Do(ctx, radix.Cmd(nil, "MSET", "{again}1", "a", "{again}2", "b")))
	require.NoError(t, real.MigrateSlotStart(ctx, slot, to))
	require.NoError(t, real.MigrateKeys(ctx, slot, to, "{again}1"))
	var values []string
	done := make(chan error, 1)
	go func() { done <- client.Do(ctx, radix.Cmd(&values, "MGET", "{again}1", "{again}2")) }()
	require.Eventually(t, func() bool { return client.Stats().Refused > 2 }, 10*time.Second, time.Millisecond)
	require.NoError(t, real.MigrateKeys(ctx, slot, to, "{again}2"))
	require.NoError(t, <-done)
	require.Equal(t, []string{"a", "b"}, values)
	require.NotZero(t, client.Stats().Ask)
}

// TestRefusedForNow lets one node refuse the first tries of some commands, and
// checks that only these are sent again.
func TestRefusedForNow(t *testing.T) {
	for _, refusal := range []string{
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"CLUSTERDOWN The cluster is down",
		"LOADING Redis is loading the dataset in memory",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"NOREPLICAS Not enough good replicas to write.",
		"READONLY You can't write against a read only replica.",
	} {
		t.Run(strings.Fields(refusal)[0], func(t *testing.T) {
			t.Parallel()
			e := redistest.StartEmulated(t, 3)
			client := open(t, cluster.Config{}, e.Addrs())
			keys := redistest.KeysInSlots(12, "refused")
			victim := keys[5]
			var left atomic.Int32
			left.Store(3)
			e.Inject(e.Owner(cluster.Slot(victim)), func(cmd string, args []string) string {
				if cmd == "INCRBY" && args[0] == victim && left.Add(-1) >= 0 {
					return refusal
				}
				return ""
			})
			p := pipeline.New(client)
			var totals []pipeline.Reply
			for _, key := range keys {
				totals = append(totals, p.IncrBy(key, 5))
			}
			require.NoError(t, p.Do(within(t, 10*time.Second)))
			for _, r := range totals {
				n, err := r.Int()
				require.NoError(t, err)
				require.EqualValues(t, 5, n)
			}
			ran := 0
			for node := range 3 {
				ran += e.Calls(node, "INCRBY")
			}
			require.Equal(t, len(keys), ran, "each command must have run once")
		})
	}
}

// TestRefusedForGood checks that retries end with the window, that the server's
// words reach the caller, and that what was given up does not count as sent
// again.
func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{RetryWindow: 20 * time.Millisecond}, e.Addrs())
	var tries atomic.Int64
	for node := range 3 {
		e.Inject(node, func(cmd string, _ []string) string {
			if cmd == "INCRBY" {
				tries.Add(1)
				return "CLUSTERDOWN The cluster is down"
			}
			return ""
		})
	}
	p := pipeline.New(client)
	r := p.IncrBy("k", 1)
	other := p.Cmd("SET", "other", "v")
	err := p.Do(within(t, 10*time.Second))
	var simple resp3.SimpleError
	require.ErrorAs(t, err, &simple)
	require.Equal(t, "CLUSTERDOWN The cluster is down", simple.S)
	require.ErrorContains(t, r.Err(), "INCRBY on 127.0.0.1:")
	require.NoError(t, other.Err())
	require.EqualValues(t, tries.Load()-1, client.Stats().Refused)
}

// TestRedirectLoop lets two nodes send commands to each other for ever.
func TestRedirectLoop(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 2)
	client := open(t, cluster.Config{}, e.Addrs())
	slot := strconv.Itoa(int(cluster.Slot("k")))
	for node := range 2 {
		other := e.Addrs()[1-node]
		e.Inject(node, func(cmd string, _ []string) string {
			if cmd == "INCRBY" {
				return "MOVED " + slot + " " + other
			}
			return ""
		})
	}
	p := pipeline.New(client)
	p.IncrBy("k", 1)
	require.ErrorContains(t, p.Do(within(t, 10*time.Second)), "MOVED")
	stats := client.Stats()
	require.LessOrEqual(t, stats.Moved, 8*(stats.Refused+1), "a wait after each eight")
}

// TestRadixPipelineFollowsRedirects: MOVED inside a radix.Pipeline must not
// reach the caller.
func TestRadixPipelineFollowsRedirects(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{RefreshEvery: -1}, e.Addrs())
	slot := cluster.Slot("{p}")
	e.Move(slot, (e.Owner(slot)+1)%3)
	p := radix.NewPipeline()
	var a, b int
	p.Append(radix.Cmd(&a, "INCRBY", "{p}a", "1"))
	p.Append(radix.Cmd(&b, "INCRBY", "{p}b", "2"))
	require.NoError(t, client.Do(within(t, 5*time.Second), p))
	require.Equal(t, []int{1, 2}, []int{a, b})
	require.EqualValues(t, 2, client.Stats().Moved)
}
