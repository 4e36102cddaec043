package cluster_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pool"
)

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
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				began := time.Now()
				client, err := config.New(ctx, []string{nodeA})
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
		client, err := config.New(t.Context(), []string{nodeA, nodeB})
		require.NoError(t, err)
		defer client.Close()
		w.set(func() { w.dead[nodeA], w.dead[nodeB] = false, false })
		time.Sleep(2 * time.Second)
		require.Equal(t, map[string]int{nodeA: 5, nodeB: 5}, connections(client))
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(1, 2))))
	})
}
