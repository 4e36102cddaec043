package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// TestLazy: while its servers are down, a client fails calls at once. It works within a
// second of their start.
func TestLazy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
		w.dead[nodeA], w.dead[nodeB] = true, true
		config := cluster.Config{Lazy: true, Dialer: lanes.Dialer{NetDial: w.dial}}
		client := open(t, config, []string{nodeA, nodeB})

		fails := func() error {
			began := time.Now()
			err := client.Do(t.Context(), radix.Cmd(nil, "INCR", "key"))
			require.ErrorIs(t, err, redislanes.ErrNotSent)
			require.Zero(t, time.Since(began))
			p := pipeline.New(client)
			r := p.IncrBy("key", 1)
			require.ErrorIs(t, p.Do(t.Context()), redislanes.ErrNotSent)
			require.ErrorIs(t, r.Err(), redislanes.ErrNotSent)
			_, clients := client.Clients()
			require.ErrorIs(t, clients, redislanes.ErrNotSent)
			require.Empty(t, client.Stats().Nodes)
			require.Empty(t, client.Primary(0))
			return err
		}
		_ = fails()
		var unreachable *cause.Unreachable
		require.ErrorAs(t, client.Sync(t.Context()), &unreachable, "it waits for an attempt")
		require.ErrorAs(t, fails(), &unreachable)
		time.Sleep(time.Minute)
		require.ErrorAs(t, fails(), &unreachable)

		w.set(func() { w.dead[nodeB] = false })
		time.Sleep(time.Second)
		p := pipeline.New(client)
		total := p.IncrBy(keyOf(1, 2), 1)
		require.NoError(t, p.Do(t.Context()))
		requireInt(t, 1, total)
		w.set(func() { w.dead[nodeA] = false })
		require.NoError(t, client.Sync(t.Context()))
	})
}

// connections returns how many are open, by the node's address.
func connections(client *cluster.Client) map[string]int {
	open := make(map[string]int)
	for _, n := range client.Stats().Nodes {
		open[n.Pool.Addr] = n.Pool.Open
	}
	return open
}

// TestWarm: the pools are full when New returns.
func TestWarm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pool pool.Config
		open int
	}{
		"fixed":    {pool.Fixed{Size: 10}, 10},
		"adaptive": {pool.Adaptive{Min: 6, Max: 10}, 6},
		"laned":    {pool.Laned{Lanes: 3}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
				client := w.open(t, cluster.Config{Pool: c.pool, Warm: true})
				require.Equal(t, map[string]int{nodeA: c.open, nodeB: c.open}, connections(client))
				cold := w.open(t, cluster.Config{Pool: c.pool})
				require.NotContains(t, connections(cold), nodeB)
				_ = client.Close()
				_ = cold.Close()
			})
		})
	}
}

// TestWarmWaitsForNobody: a primary that cannot be dialled, or is silent, is no error.
func TestWarmWaitsForNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(*world)
		most time.Duration
	}{
		"down":   {func(w *world) { w.dead[nodeB] = true }, 0},
		"silent": {func(w *world) { w.silent[nodeB] = true }, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
				c.harm(w)
				config := cluster.Config{Pool: pool.Fixed{Size: 5}, Warm: true, NoIdentity: true, Dialer: lanes.Dialer{NetDial: w.dial}}
				began := time.Now()
				client, err := config.New(soon(t, 2*time.Second), []string{nodeA})
				require.NoError(t, err)
				defer client.Close()
				require.LessOrEqual(t, time.Since(began), c.most)
				require.Equal(t, 5, connections(client)[nodeA])
				require.Zero(t, connections(client)[nodeB])
			})
		})
	}
}

// TestWarmLazy: the pools are filled once a server has answered.
func TestWarmLazy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
		w.dead[nodeA], w.dead[nodeB] = true, true
		config := cluster.Config{Pool: pool.Fixed{Size: 5}, Warm: true, Lazy: true, Dialer: lanes.Dialer{NetDial: w.dial}}
		client := open(t, config, []string{nodeA, nodeB})
		w.set(func() { w.dead[nodeA], w.dead[nodeB] = false, false })
		time.Sleep(2 * time.Second)
		require.Equal(t, map[string]int{nodeA: 5, nodeB: 5}, connections(client))
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(1, 2))))
	})
}

// TestLazyWithoutSlots: a client that does not know yet whether there are slots takes commands with keys
// in several. It refuses them once it knows that there are.
func TestLazyWithoutSlots(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]error{noCluster: nil, slotMap(nodeA): redislanes.ErrCrossSlot} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(func(string, []string) string { return "+OK\r\n" })
			w.slots, w.dead[nodeA] = said, true
			client := open(t, cluster.Config{Lazy: true, Dialer: lanes.Dialer{NetDial: w.dial}}, []string{nodeA})
			p := pipeline.New(client)
			reply := p.Cmd("MSET", "a", "1", "b", "2")
			require.ErrorIs(t, p.Do(t.Context()), redislanes.ErrNotSent)
			require.NotErrorIs(t, reply.Err(), redislanes.ErrCrossSlot, "nobody knows")

			p.Reset()
			reply = p.Cmd("MSET", "a", "1", "b", "2")
			w.set(func() { w.dead[nodeA] = false })
			time.Sleep(time.Second)
			require.ErrorIs(t, p.Do(t.Context()), want)
			require.ErrorIs(t, reply.Err(), want)
		})
	}
}
