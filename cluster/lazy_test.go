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
