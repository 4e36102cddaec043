package cluster_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/pipeline"
)

// TestLongTriesNeedNoMemory: a call that tries for hours needs no more memory than
// one that tries for half a minute, and forgets no reply that it has.
func TestLongTriesNeedNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ill := new(atomic.Bool)
		ill.Store(true)
		w := newWorld(func(addr string, _ []string) string {
			if addr == nodeA && ill.Load() {
				return "-LOADING Redis is loading the dataset in memory\r\n"
			}
			return one
		}, nodeA, nodeB)
		client := w.open(t, cluster.Config{RefreshEvery: -1, RetryWindow: cluster.WhileContextLasts})
		p := pipeline.New(client)
		done := make(chan error, 1)
		sick, well := p.IncrBy(keyOf(0, 2), 1), p.IncrBy(keyOf(1, 2), 1)
		go func() { done <- p.Do(t.Context()) }()
		used := func() uint64 {
			synctest.Wait()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		time.Sleep(30 * time.Second)
		before := used()
		time.Sleep(90 * time.Second)
		require.Less(t, used(), before+256<<10)
		ill.Store(false)
		require.NoError(t, <-done)
		require.NoError(t, sick.Err())
		require.NoError(t, well.Err())
		require.Greater(t, p.Trips(), 200, "all that were sent")
	})
}
