package cluster_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/cluster"
)

// TestKeylessWhileAllNodesAreDown: a command without a key leaves a node that is
// down only for one that may answer, so that failing calls cost no copies of the
// table of slots. The first node that is back gets them.
func TestKeylessWhileAllNodesAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(func(addr string, _ []string) string { return bulk(addr) }, nodeA, nodeB, nodeC)
		client := w.open(t, cluster.Config{RefreshEvery: -1})
		w.set(func() { w.dead[nodeA], w.dead[nodeB], w.dead[nodeC] = true, true, true })
		var by string
		whoami := func() radix.Action { return radix.Cmd(&by, "ECHO", "who") }
		require.ErrorIs(t, client.Do(soon(t, 3*time.Second), whoami()), redislanes.ErrNotSent)
		const calls = 100
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			require.ErrorIs(t, client.Do(t.Context(), whoami()), redislanes.ErrNotSent)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)/calls, uint64(16<<10))
		w.set(func() { delete(w.dead, nodeB) })
		time.Sleep(10 * time.Second) // its pool dials again
		_ = client.Do(t.Context(), whoami())
		require.NoError(t, client.Do(soon(t, time.Second), whoami()))
		require.Equal(t, nodeB, by)
	})
}
