package pipeline_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
	"github.com/redislanes/redislanes/pipeline"
	"github.com/redislanes/redislanes/pool"
	"github.com/redislanes/redislanes/redistest"
)

// A client with 3 nodes and 4 lanes to each needs at most 1 MiB of heap when it
// is idle, also after it has carried a large load. Not parallel: it measures the
// heap.
func TestMemoryOfAnIdleClient(t *testing.T) {
	real := servers.StartCluster(t, servers.Options{Primaries: 3})
	before := heap()
	// Pings end the work of background readers, so that the test need not wait.
	kind := pool.Laned{Lanes: 4, Options: pool.Options{PingEvery: 10 * time.Millisecond}}
	client := open(t, cluster.Config{Pool: kind}, real.Addrs())
	load(t, client, 10) // pools are made when they are used
	require.Eventually(t, func() bool {
		lanes := 0
		for _, n := range client.Stats().Nodes {
			lanes += n.Pool.Open
		}
		return lanes == 12
	}, time.Minute, time.Millisecond)
	idle := func() int64 { return heap() - before }
	const most = 1 << 20
	require.Less(t, idle(), int64(most), "before the load")
	t.Logf("before the load: %d KiB", idle()>>10)

	load(t, client, 100_000)
	require.Eventually(t, func() bool { return idle() < most }, time.Minute, 10*time.Millisecond, "after a load")
	t.Logf("after a load: %d KiB", idle()>>10)
	require.NoError(t, client.Sync(within(t, time.Minute)))
}

// load sends values of so many bytes to all nodes and reads them.
func load(t *testing.T, client *cluster.Client, size int) {
	t.Helper()
	ctx := within(t, time.Minute)
	p := pipeline.New(client)
	keys := redistest.KeysInSlots(64, "memory")
	for range 2 {
		for _, key := range keys {
			p.Cmd("SET", key, strings.Repeat("x", size))
			p.Cmd("GET", key)
		}
		require.NoError(t, p.Do(ctx))
		p.Reset()
	}
}

// heap returns the bytes of what is still in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools of the runtime kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
