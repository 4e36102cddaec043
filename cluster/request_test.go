package cluster_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/lanes"
)

// What a request has grown for once it gives back when it is not needed.
func TestRequestsShrink(t *testing.T) {
	var r cluster.Request
	fill := func(n int) int {
		r.Reset()
		r.CommitKnown(append(r.Buffer(), make([]byte, n)...), 0)
		return cap(r.Buffer())
	}
	require.GreaterOrEqual(t, fill(1<<20), 1<<20)
	require.GreaterOrEqual(t, fill(1<<20), 1<<20)
	for range lanes.SpareTrips {
		require.GreaterOrEqual(t, fill(100), 1<<20, "not at once")
		fill(1 << 20)
	}
	for range lanes.SpareTrips {
		fill(100)
	}
	require.Less(t, fill(100), 1<<10)
}

// What is kept for each command goes with it. Not parallel: it measures the heap.
func TestRequestsShrinkByCommands(t *testing.T) {
	inUse := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := inUse()
	var r cluster.Request
	fill := func(n int) {
		r.Reset()
		for range n {
			r.Commit(append(r.Buffer(), "*1\r\n$4\r\nPING\r\n"...), 0)
		}
	}
	fill(500_000)
	for range lanes.SpareTrips + 1 {
		fill(1)
	}
	held := inUse() - before
	require.Less(t, held, int64(1<<20))
	runtime.KeepAlive(&r)
}
