package cluster_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
)

// TestNameLeavesASilentServer: the old primary falls silent, and its name leads to the new one.
// The old connections have PINGs in flight when the map says that they are stale. They stay
// until PauseTimeout, but hold no place in the pool.
func TestNameLeavesASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, before, after := failover(nil)
		after.refuses = nil
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		call := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			return client.Do(ctx, radix.Cmd(nil, "INCR", "k"))
		}
		for range 20 {
			require.NoError(t, call())
			time.Sleep(10 * time.Millisecond)
		}
		w.mu.Lock()
		before.silent = true
		w.leads[shard] = after
		w.mu.Unlock()
		require.Error(t, call())
		time.Sleep(20 * time.Millisecond) // the PINGs are in flight
		w.failOver()
		_ = client.Sync(t.Context())
		began := time.Now()
		for call() != nil {
			require.Less(t, time.Since(began), time.Second)
		}
		for range 20 {
			require.NoError(t, call())
		}
	})
}
