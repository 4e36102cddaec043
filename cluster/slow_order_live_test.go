package cluster_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/redistest"
)

// TestSlowKeepsTheOrderOfItsSlot: within a request, the commands of a slot that
// has a slow command run in order, and those of other slots are not held up: a
// caller that leaves early has their replies.
func TestSlowKeepsTheOrderOfItsSlot(t *testing.T) {
	t.Parallel()
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	client, h := slowSetup(t, real, cluster.Config{Pool: oneLane(false)}, "LRANGE")
	for _, group := range []cluster.Grouping{cluster.ByNode, cluster.BySlot} {
		ctx, cancel := context.WithCancel(within(t, 20*time.Second))
		prefix := group.String()
		p := pipeline.Config{Group: group}.New(client)
		keys := redistest.KeysInSlots(6, prefix)
		list := keys[0]
		first := p.Cmd("RPUSH", list, "a")
		var others []pipeline.Reply
		for _, key := range keys[1:] {
			others = append(others, p.IncrBy(key, 1))
		}
		seen := p.Cmd("LRANGE", list, "0", "-1")
		second := p.Cmd("RPUSH", list, "b")
		done := make(chan error, 1)
		go func() { done <- p.Do(ctx) }()
		if group == cluster.ByNode {
			h.wait(t)
			require.Eventually(t, func() bool { s := stats(client); return s.InFlight == 0 && s.SlowInFlight == 1 },
				10*time.Second, time.Millisecond)
			h.let()
		}
		require.NoError(t, <-done)
		for i, reply := range others {
			n, err := reply.Int()
			require.NoError(t, err, i)
			require.EqualValues(t, 1, n)
		}
		var got []string
		require.NoError(t, seen.Into(&got))
		require.Equal(t, []string{"a"}, got, "behind the first RPUSH and before the second")
		n, err := first.Int()
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		n, err = second.Int()
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		if group == cluster.ByNode {
			require.Equal(t, 4, p.Trips(), "one for each node and one for the slow slot")
		}
		cancel()
	}
}

// TestSlowTotalsAreExact mixes slow and fast commands on the same keys, from
// many callers, while the servers refuse some for now.
func TestSlowTotalsAreExact(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	client := open(t, cluster.Config{RetryWindow: time.Hour}, e.Addrs())
	keys := redistest.KeysInSlots(12, "exact")
	var commands atomic.Int32
	for node := range e.Addrs() {
		e.Inject(node, func(string, []string) string {
			if commands.Add(1)%50 == 0 {
				return "TRYAGAIN later"
			}
			return ""
		})
	}
	const callers, rounds = 8, 40
	ctx := within(t, 30*time.Second)
	acknowledged := make([]atomic.Int64, len(keys))
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			p := pipeline.New(client)
			counts := make([]pipeline.Reply, len(keys))
			for round := range rounds {
				p.Reset()
				for i, key := range keys {
					counts[i] = p.IncrBy(key, 1)
					if (i+round+caller)%5 == 0 {
						p.Cmd("LRANGE", "{"+key+"}list", "0", "-1")
					}
					p.Expire(key, time.Hour)
				}
				_ = p.Do(ctx)
				for i, count := range counts {
					switch err := count.Err(); {
					case err == nil:
						acknowledged[i].Add(1)
					case !errors.Is(err, cause.ErrOvertaken): // by what came later on the slot
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	for i, key := range keys {
		var n int64
		require.NoError(t, client.Do(ctx, radix.Cmd(&n, "GET", key)))
		require.Equal(t, acknowledged[i].Load(), n, key)
		require.Greater(t, n, int64(callers*rounds*9/10), key)
	}
	require.Zero(t, stats(client).SlowInFlight)
	require.Positive(t, client.Stats().Refused)
}

// TestSlowStaysSlowInLaterAttempts: what was redirected and refused goes again on
// lanes for slow commands.
func TestSlowStaysSlowInLaterAttempts(t *testing.T) {
	t.Parallel()
	e := redistest.StartEmulated(t, 3)
	proxies := redistest.StartProxies(t, e.Addrs())
	h := hold(t, proxies, "LRANGE")
	client := open(t, cluster.Config{Pool: oneLane(false), AddrMap: proxies.AddrMap, RefreshEvery: -1}, e.Addrs())
	ctx := within(t, 20*time.Second)
	slot := cluster.Slot("key")
	e.Move(slot, (e.Owner(slot)+1)%3) // the client does not know
	done := make(chan error, 1)
	go func() {
		p := pipeline.New(client)
		p.Cmd("RPUSH", "{key}list", "a")
		p.Cmd("LRANGE", "{key}list", "0", "-1")
		done <- p.Do(ctx)
	}()
	h.wait(t)
	h.let()
	require.NoError(t, <-done)
	require.EqualValues(t, 2, client.Stats().Moved)
	slow := 0
	for _, n := range client.Stats().Nodes {
		if n.Pool.SlowLaneInFlight != nil {
			slow++
		}
	}
	require.Equal(t, 2, slow, "before and behind the redirect")
}
