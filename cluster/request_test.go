package cluster_test

import (
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
		r.Commit(append(r.Buffer(), make([]byte, n)...), 0)
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
