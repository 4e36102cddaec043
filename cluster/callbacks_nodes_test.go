package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
)

// TestSlowStrategyOfOneNode: a pipeline has commands for two nodes. While the strategy thinks about
// the second node, the commands for the first one are sent, and so are those of other callers.
func TestSlowStrategyOfOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = time.Second
		w := newWorld(func(string, []string) string { return one }, nodeA, nodeB)
		calls := 0
		client := w.open(t, cluster.Config{RefreshEvery: -1, Pool: pool.Laned{Lanes: 1, Strategy: func(*lanes.Set, int64) int {
			if calls++; calls == 2 {
				time.Sleep(slow)
			}
			return 0
		}}})
		for i := range 2 {
			require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(i, 2))))
		}
		time.Sleep(time.Minute)
		calls = 0
		done := make(chan error)
		go func() {
			p := pipeline.New(client)
			p.IncrBy(keyOf(0, 2), 1)
			p.IncrBy(keyOf(1, 2), 1) // about which the strategy is asked second
			done <- p.Do(t.Context())
		}()
		synctest.Wait()
		began := time.Now()
		require.NoError(t, client.Do(t.Context(), radix.Cmd(nil, "INCR", keyOf(0, 2))))
		require.Less(t, time.Since(began), slow/2)
		require.NoError(t, <-done)
	})
}
