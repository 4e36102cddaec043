package servers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRestartAlone puts a server without cluster mode in a node's place, and the
// node back.
func TestRestartAlone(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, Options{Primaries: 1})
	ctx := within(t, startTime)
	n := c.Nodes()[0]
	require.ErrorContains(t, n.RestartAlone(ctx), "which is running: Kill it first")
	require.NoError(t, n.Do(ctx, nil, "SET", "k", "1"))
	require.NoError(t, n.Kill())
	require.NoError(t, n.RestartAlone(ctx))
	var info string
	require.ErrorContains(t, n.Do(ctx, &info, "CLUSTER", "INFO"), "cluster support disabled")
	var keys int
	require.NoError(t, n.Do(ctx, &keys, "DBSIZE"))
	require.Zero(t, keys)
	require.NoError(t, n.Kill())
	require.NoError(t, n.Restart(ctx))
	require.NoError(t, c.WaitHealthy(ctx))
}
